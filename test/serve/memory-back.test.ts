/** When a card's memory counts as back, on a clock that the test moves. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HostMemory } from '../../app/core/types.ts';
import { memoryBack, type Taken } from '../../app/memory-back.ts';
import { manualClock } from '../support/clock.ts';

const GIB = 1024 ** 3;
const RADEON = '0000:03:00.0';
const GEFORCE = '0000:01:00.0';

type Cards = HostMemory['cards'];

/** Cards of 8 GiB, by what they use. */
function cards(used: Readonly<Record<string, number>>): Cards {
  return Object.fromEntries(
    Object.entries(used).map(([pci, bytes]) => [pci, { total: 8 * GIB, used: bytes }]),
  );
}

const one = (used: number): Cards => cards({ [RADEON]: used });
const TAKEN: Taken = { bytes: 4 * GIB, before: one(6 * GIB), ran: true };

/** One reading after another, the last one again and again; null: it never comes. */
async function waits(taken: Partial<Taken>, readings: readonly (Cards | null)[]) {
  const clock = manualClock();
  const begun = clock.now().mono;
  let looks = 0;
  const fresh = (): Promise<Cards> => {
    const reading = readings[Math.min(looks, readings.length - 1)] ?? null;
    looks += 1;
    return reading === null ? new Promise(() => {}) : Promise.resolve(reading);
  };
  const result = { back: null as boolean | null };
  const done = memoryBack({ fresh }, clock, { ...TAKEN, ...taken }).then((back) => {
    result.back = back;
  });
  for (let turn = 0; turn < 100 && result.back === null; turn++) {
    await new Promise((resolve) => setImmediate(resolve));
    if (result.back === null) clock.advance(250);
  }
  assert.notEqual(result.back, null, 'it waits for ever');
  await done;
  return { back: result.back, looks, ms: clock.now().mono - begun, alarms: clock.alarms() };
}

test('it is back when three quarters of it are, and no sooner', async () => {
  const { back, looks, ms } = await waits(
    {},
    [6, 3 + 1 / GIB, 3].map((gib) => one(gib * GIB)),
  );
  assert.deepEqual({ back, looks, ms }, { back: true, looks: 3, ms: 500 });
});

test('the wait is bounded, and leaves no alarm behind', async () => {
  const { back, ms, alarms } = await waits({}, [one(6 * GIB)]);
  assert.deepEqual({ back, ms, alarms }, { back: false, ms: 5_000, alarms: 0 });
});

test('a reading that does not come is waited for no longer', async () => {
  const { back, ms, alarms } = await waits({}, [one(5 * GIB), null]);
  assert.deepEqual({ back, ms, alarms }, { back: false, ms: 5_000, alarms: 0 });
});

test('of one that had died, a steady reading is enough', async () => {
  const { back, looks } = await waits({ before: one(3 * GIB), ran: false }, [
    one(2.5 * GIB),
    one(2 * GIB),
    one(2 * GIB),
  ]);
  assert.deepEqual({ back, looks }, { back: true, looks: 3 });
});

test('where less was in use than it was to take, a steady reading is enough', async () => {
  const { back, looks } = await waits({ before: one(2 * GIB) }, [one(GIB), one(GIB)]);
  assert.deepEqual({ back, looks }, { back: true, looks: 2 });
});

test('a card that tells no more is not taken for one that was freed', async () => {
  const before = cards({ [RADEON]: GIB, [GEFORCE]: 6 * GIB });
  const gone = one(GIB);
  assert.equal((await waits({ before }, [gone])).back, false);
  const freed = cards({ [RADEON]: GIB, [GEFORCE]: 2 * GIB });
  assert.equal((await waits({ before }, [gone, freed])).back, true);
  assert.equal((await waits({ before: cards({ [GEFORCE]: 6 * GIB }) }, [gone])).back, true, 'none tells');
});

test('a card that came meanwhile counts for nothing', async () => {
  const [full, freed] = [6, 1].map((gib) => cards({ [RADEON]: gib * GIB, [GEFORCE]: 7 * GIB }));
  const { back, looks } = await waits({}, [full ?? {}, freed ?? {}]);
  assert.deepEqual({ back, looks }, { back: true, looks: 2 });
});

test('where no card tells, or nothing was taken, the end of the process counts', async () => {
  for (const taken of [{ before: {} }, { bytes: 0 }]) {
    assert.deepEqual(await waits(taken, [null]), { back: true, looks: 0, ms: 0, alarms: 0 });
  }
});
