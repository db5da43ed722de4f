/** The table of kept answers over random sequences of calls: its bound, and one answer a key. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type AnswerTable,
  answerTable,
  type KeyedAnswer,
} from '../../../../app/adapters/http/keyed/table.ts';
import { fc } from '../../../support/property.ts';

const ENTRY = 64;
const KEPT_MS = 1000;
const ROOMY = { answerBytes: 3000, totalBytes: 8000, entryBytes: ENTRY, keptMs: KEPT_MS };
const TIGHT = { ...ROOMY, totalBytes: 5 * ENTRY + 1500 };

interface Made {
  readonly answer: KeyedAnswer;
  readonly content: number[];
  endedAt: number | null;
  kept: boolean;
  dropped: boolean;
}

interface World {
  readonly table: AnswerTable;
  readonly made: Made[];
  /** The newest of each id. */
  readonly latest: Map<string, Made>;
  now: number;
  nextByte: number;
}

type Step = (world: World) => void;

const pick = (world: World, index: number, fits: (made: Made) => boolean) => {
  const fitting = world.made.filter(fits);
  return fitting[index % Math.max(1, fitting.length)];
};
const runs = (made: Made) => made.answer.state.is === 'running' || made.answer.state.is === 'passing';

const steps: fc.Arbitrary<Step> = fc.oneof(
  fc.nat(5).map(
    (n): Step =>
      (world) => {
        const id = `key-${n}`;
        if (world.table.find(id, 'body').kind !== 'none') return;
        const answer = world.table.open(id, 'body');
        if (answer === null) return;
        const made = { answer, content: [], endedAt: null, kept: false, dropped: false };
        world.made.push(made);
        world.latest.set(id, made);
      },
  ),
  fc.tuple(fc.nat(9), fc.nat(1200)).map(
    ([index, length]): Step =>
      (world) => {
        const made = pick(world, index, ({ answer }) => answer.state.is === 'running');
        if (made === undefined) return;
        const bytes = Buffer.from(Array.from({ length }, () => world.nextByte++ % 251));
        const result = world.table.write(made.answer, bytes);
        if (result === 'written') made.content.push(...bytes);
        else {
          world.table.drop(made.answer, result);
          made.dropped = true;
        }
      },
  ),
  fc.tuple(fc.nat(9), fc.boolean()).map(
    ([index, keep]): Step =>
      (world) => {
        const made = pick(world, index, runs);
        if (made === undefined) return;
        world.table.end(made.answer, keep, world.now);
        made.endedAt = world.now;
        made.kept = keep;
      },
  ),
  fc.nat(9).map(
    (index): Step =>
      (world) => {
        const made = pick(
          world,
          index,
          ({ answer, endedAt }) => endedAt === null || answer.state.is === 'kept',
        );
        if (made !== undefined) made.answer.readers += 1;
      },
  ),
  fc.nat(9).map(
    (index): Step =>
      (world) => {
        const made = pick(world, index, ({ answer }) => answer.readers > 0);
        if (made !== undefined) made.answer.readers -= 1;
      },
  ),
  fc.nat(400).map(
    (ms): Step =>
      (world) => {
        world.now += ms;
        world.table.expire(world.now);
      },
  ),
);

/** The bytes that a client gets who reads it from its beginning. */
function readWhole({ pages }: KeyedAnswer): number[] {
  const bytes: number[] = [];
  for (let next = pages.from(0); next !== null; next = pages.from(bytes.length)) bytes.push(...next);
  return bytes;
}

function check(world: World, limits: typeof ROOMY): void {
  const { table } = world;
  let taken = 0;
  for (const [id, made] of world.latest) {
    const found = table.find(id, 'body');
    if (found.kind === 'none') continue;
    taken += ENTRY + made.answer.pages.taken();
    assert.equal(table.find(id, 'other').kind, 'other_body');
    if (found.kind !== 'here') continue;
    assert.equal(found.answer, made.answer);
    assert.deepEqual(readWhole(found.answer), made.content);
    assert.ok(made.content.length <= limits.answerBytes);
  }
  for (const { answer, content, kept, dropped } of world.made) {
    if (kept && !dropped && answer.readers > 0) {
      assert.equal(answer.state.is, 'kept');
      assert.deepEqual(readWhole(answer), content, 'a reader lost its answer');
    }
  }
  assert.equal(table.bytes(), taken);
  assert.ok(taken <= limits.totalBytes, `${taken} of ${limits.totalBytes} bytes`);
}

function play(limits: typeof ROOMY, list: readonly Step[], after: (world: World) => void): void {
  const world: World = { table: answerTable(limits), made: [], latest: new Map(), now: 0, nextByte: 0 };
  for (const step of list) {
    step(world);
    check(world, limits);
    after(world);
  }
}

test('memory stays under the bound, and what is there is whole', () => {
  fc.assert(
    fc.property(fc.array(steps, { maxLength: 60 }), (list) => play(TIGHT, list, () => {})),
    { numRuns: 400 },
  );
});

test('a key whose answer was kept is taken until its time is over, whatever else comes', () => {
  fc.assert(
    fc.property(fc.array(steps, { maxLength: 60 }), (list) =>
      play(ROOMY, list, ({ latest, table, now }) => {
        for (const [id, { kept, endedAt }] of latest) {
          if (kept && endedAt !== null && now < endedAt + KEPT_MS)
            assert.notEqual(table.find(id, 'body').kind, 'none');
        }
      }),
    ),
    { numRuns: 400 },
  );
});

test('an answer that is not to be kept frees its key', () => {
  const table = answerTable(ROOMY);
  const answer = table.open('a', 'body');
  assert.ok(answer);
  assert.equal(table.find('a', 'body').kind, 'here');
  table.end(answer, false, 0);
  assert.equal(table.find('a', 'body').kind, 'none');
  assert.equal(table.bytes(), 0);
});

test('the oldest bytes go first; what they were stays known, and why they went', () => {
  const table = answerTable({ ...ROOMY, totalBytes: 3 * ENTRY + 4000 });
  for (const id of ['a', 'b', 'c']) {
    const answer = table.open(id, 'body');
    assert.ok(answer);
    assert.equal(table.write(answer, Buffer.alloc(2000)), 'written');
    table.end(answer, true, 0);
  }
  assert.deepEqual(table.find('a', 'body'), { kind: 'gone', why: 'no_room' });
  assert.equal(table.find('b', 'body').kind, 'here');
});

test('an answer over its own bound is known as too large, running and ended', () => {
  const table = answerTable(ROOMY);
  const answer = table.open('a', 'body');
  assert.ok(answer);
  table.write(answer, Buffer.alloc(2000));
  const result = table.write(answer, Buffer.alloc(2000));
  assert.equal(result, 'too_large');
  table.drop(answer, result);
  assert.deepEqual(table.find('a', 'body'), { kind: 'gone', why: 'too_large' });
  table.end(answer, true, 0);
  assert.deepEqual(table.find('a', 'body'), { kind: 'gone', why: 'too_large' });
  table.expire(KEPT_MS);
  assert.equal(table.find('a', 'body').kind, 'none');
});

test('an answer that is being read stays until its reader is gone, and only then is due', () => {
  const table = answerTable(ROOMY);
  const answer = table.open('a', 'body');
  assert.ok(answer);
  table.write(answer, Buffer.from('text'));
  answer.readers = 1;
  table.end(answer, true, 0);
  assert.equal(table.nextDue(), null);
  table.expire(10 * KEPT_MS);
  assert.equal(table.find('a', 'body').kind, 'here');
  answer.readers = 0;
  assert.equal(table.nextDue(), KEPT_MS);
  table.expire(10 * KEPT_MS);
  assert.equal(table.bytes(), 0);
});

test('where all that is there runs or is read, a new one is refused', () => {
  const table = answerTable({ ...ROOMY, totalBytes: 2 * ENTRY });
  const first = table.open('a', 'body');
  assert.ok(first && table.open('b', 'body'));
  assert.equal(table.open('c', 'body'), null);
  first.readers = 1;
  table.end(first, true, 0);
  assert.equal(table.open('c', 'body'), null);
  first.readers = 0;
  assert.ok(table.open('c', 'body'));
});
