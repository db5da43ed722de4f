/** When a card's memory counts as back: read from files as amdgpu has them, on a clock that the test moves. */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { deviceMemory } from '../../app/adapters/host/device-memory.ts';
import { memoryBack } from '../../app/memory-back.ts';
import type { Clock } from '../../app/ports.ts';

const GIB = 1024 ** 3;

/** A machine with an amdgpu card and one that tells nothing. */
async function machine(t: { after(work: () => Promise<void>): void }) {
  const sys = await mkdtemp(join(tmpdir(), 'llamastead-sys-'));
  t.after(() => rm(sys, { recursive: true }));
  const card = join(sys, 'bus/pci/devices/0000:03:00.0');
  await mkdir(card, { recursive: true });
  await mkdir(join(sys, 'bus/pci/devices/0000:00:1f.0'));
  await writeFile(join(card, 'mem_info_vram_total'), `${8 * GIB}\n`);
  return { sys, uses: (bytes: number) => writeFile(join(card, 'mem_info_vram_used'), `${bytes}\n`) };
}

/** Time passes only by waiting; `each` happens at each wait. */
function waitingClock(each: (mono: number) => Promise<void>): Clock {
  let mono = 0;
  return {
    now: () => ({ mono, wall: mono }),
    at(when, callback) {
      mono = when;
      void each(mono).then(callback);
      return () => {};
    },
  };
}

test('it is back when three quarters of it are, and no sooner', async (t) => {
  const { sys, uses } = await machine(t);
  await uses(6 * GIB);
  const devices = deviceMemory({ sys });
  const before = await devices.used();
  assert.equal(before, 6 * GIB);
  let waits = 0;
  const clock = waitingClock(async () => {
    waits += 1;
    await uses(waits < 3 ? 3 * GIB + 1 : 3 * GIB);
  });
  assert.equal(await memoryBack(devices, clock, { bytes: 4 * GIB, before, ran: true }), true);
  assert.equal(waits, 3);
});

test('the wait is bounded', async (t) => {
  const { sys, uses } = await machine(t);
  await uses(6 * GIB);
  const clock = waitingClock(async () => {});
  const taken = { bytes: 4 * GIB, before: 6 * GIB, ran: true };
  assert.equal(await memoryBack(deviceMemory({ sys }), clock, taken), false);
  assert.equal(clock.now().mono, 5_000);
});

test('of one that had died, a steady reading is enough', async (t) => {
  const { sys, uses } = await machine(t);
  await uses(3 * GIB);
  let waits = 0;
  const clock = waitingClock(async () => {
    waits += 1;
    await uses(2 * GIB);
  });
  await uses(2.5 * GIB);
  const taken = { bytes: 4 * GIB, before: 3 * GIB, ran: false };
  assert.equal(await memoryBack(deviceMemory({ sys }), clock, taken), true);
  assert.equal(waits, 2);
});

test('where no card tells, the end of the process counts', async (t) => {
  const { sys } = await machine(t);
  const devices = deviceMemory({ sys });
  assert.equal(await devices.used(), null);
  const clock = waitingClock(async () => {});
  assert.equal(await memoryBack(devices, clock, { bytes: GIB, before: null, ran: true }), true);
  assert.equal(
    await memoryBack(deviceMemory({ sys: '/nowhere' }), clock, { bytes: 0, before: 1, ran: true }),
    true,
  );
  assert.equal(clock.now().mono, 0);
});
