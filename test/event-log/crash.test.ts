/** Real crashes: a process that is killed between making facts durable and telling them. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { newFolder, numbers, openLog } from './support.ts';

const child = fileURLToPath(new URL('./crash-child.ts', import.meta.url));

/** Runs the child until it kills itself; gives the numbers that it told. */
async function crash(folder: string, facts: number, dieAt: number): Promise<number[]> {
  const process = spawn(globalThis.process.execPath, [child, folder, String(facts), String(dieAt)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let out = '';
  process.stdout.on('data', (chunk: Buffer) => {
    out += chunk.toString();
  });
  const [, signal] = await once(process, 'close');
  assert.equal(signal, 'SIGKILL');
  return out.split('\n').filter(Boolean).map(Number);
}

test('after a crash between write and telling, facts are told with the same numbers', async () => {
  const folder = newFolder();
  const told = await crash(folder, 5, 2);
  assert.deepEqual(told, [1, 2]);
  const { log, add } = await openLog(folder);
  // A sink goes on from the last number it took: what it missed has its number, what it has may come again.
  assert.deepEqual(numbers(log.since(2, 10).events), [3, 4, 5]);
  assert.deepEqual(
    log.since(0, 10).events.map(({ model }) => model),
    ['m1', 'm2', 'm3', 'm4', 'm5'],
  );
  await add({ type: 'gpu_lost' });
  assert.equal(log.seq, 6);
  await log.close();
});

test('after a crash before the write, the facts are not told at all and their numbers are free', async () => {
  const folder = newFolder();
  assert.deepEqual(await crash(folder, 3, 0), []);
  const { log, add } = await openLog(folder);
  assert.equal(log.seq, 0);
  await add({ type: 'gpu_lost' });
  assert.equal(log.seq, 1);
  await log.close();
});
