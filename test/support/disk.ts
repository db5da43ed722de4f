/** Disks that a host gets later, as far as a test needs one: in memory, and gone with the test. */
import { mkdir } from 'node:fs/promises';
import { run } from '../home/lib/run.ts';
import type { Defer } from './defer.ts';

/** Mounts an empty disk on the folder, which is made where it is missing. */
export async function mountDisk(defer: Defer, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await run('mount', ['-t', 'tmpfs', '-o', 'size=64m', 'llamastead-test', folder]);
  defer(() => run('umount', ['--lazy', folder]));
}
