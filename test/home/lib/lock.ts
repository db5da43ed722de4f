import { spawn } from 'node:child_process';
import { once } from 'node:events';

/**
 * Runs work while no other process of this machine holds the lock. The kernel holds it through flock(1), whose
 * `cat` ends with this process's pipe: a process that dies leaves no lock behind.
 */
export async function withLock<T>(file: string, work: () => Promise<T>): Promise<T> {
  const holder = spawn('flock', [file, 'sh', '-c', 'echo locked; cat'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  await once(holder.stdout, 'data');
  try {
    return await work();
  } finally {
    holder.stdin.end();
    await once(holder, 'close');
  }
}
