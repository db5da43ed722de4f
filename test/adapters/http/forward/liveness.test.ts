/** When an instance that says nothing is asked for a sign of life, and what its silence means. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { alarms } from '../../../../app/adapters/http/forward/alarms.ts';
import { liveness } from '../../../../app/adapters/http/forward/liveness.ts';
import { watch } from '../../../../app/adapters/http/forward/watch.ts';
import { manualClock } from '../../../support/clock.ts';

const SILENCE = 30_000;
const STEP = SILENCE / 3;

interface Question {
  readonly at: number;
  answer(): void;
  open: boolean;
}

/** An instance whose questions the test answers, or leaves open. */
function scene() {
  const clock = manualClock();
  const began = clock.now().mono;
  const questions: Question[] = [];
  const frozen: string[] = [];
  const list = alarms(clock);
  const one = liveness({
    clock,
    alarms: list,
    silenceMs: () => SILENCE,
    ask(answered) {
      const question = { at: clock.now().mono - began, answer: answered, open: true };
      questions.push(question);
      return () => {
        question.open = false;
      };
    },
  });
  const never = Number.POSITIVE_INFINITY;
  const limits = { stallMs: never, isReading: () => false, firstMs: never, clientDeadline: never };
  return {
    clock,
    questions,
    frozen,
    /** Ms since the beginning. */
    asked: () => questions.map(({ at }) => at),
    open: () => questions.filter(({ open }) => open).length,
    /** An attempt that waits from now on; it ends where its instance is frozen, as the real one does. */
    attempt(name: string) {
      const deadlines = watch({
        clock,
        alarms: list,
        ...limits,
        missed: () => {},
      });
      const followed = one.follow(deadlines, () => {
        frozen.push(name);
        followed.stop();
      });
      return followed;
    },
  };
}

describe('an instance that says nothing', () => {
  test('is asked after a while, and again, and is frozen when it answered none of the questions', () => {
    const { clock, attempt, asked, frozen, open } = scene();
    attempt('a');
    clock.advance(2 * SILENCE - 1);
    assert.deepEqual(asked(), [SILENCE, SILENCE + STEP, SILENCE + 2 * STEP]);
    assert.deepEqual(frozen, []);
    assert.equal(open(), 3);
    clock.advance(1);
    assert.deepEqual(frozen, ['a']);
    assert.equal(open(), 0);
  });

  test('is alive by one answer, be it late: nobody is cut, and it is asked again after as long', () => {
    const { clock, attempt, asked, questions, frozen, open } = scene();
    attempt('a');
    for (let round = 0; round < 100; round += 1) {
      clock.advance(SILENCE + 2 * STEP + 9_999);
      // The first question, when the time of the third is nearly over.
      questions[3 * round]?.answer();
      assert.equal(open(), 0);
    }
    assert.deepEqual(frozen, []);
    assert.equal(asked().length, 300);
  });

  test('is not asked while bytes come, before the content or within it', () => {
    const { clock, attempt, asked } = scene();
    const one = attempt('a');
    for (const begun of [false, false, true, true]) {
      clock.advance(SILENCE - 1);
      one.bytes(begun);
    }
    clock.advance(SILENCE - 1);
    assert.deepEqual(asked(), []);
    clock.advance(1);
    assert.equal(asked().length, 1);
  });

  test('gives a sign of life to all that wait by the bytes of one, also between two questions', () => {
    const { clock, attempt, asked, frozen } = scene();
    const talks = attempt('talks');
    attempt('waits');
    clock.advance(SILENCE + 2 * STEP + 1);
    talks.bytes(true);
    clock.advance(SILENCE - 1);
    assert.equal(asked().length, 3);
    clock.advance(1);
    assert.equal(asked().length, 4);
    assert.deepEqual(frozen, []);
  });

  test('is asked once for all that wait for it, and all of them hear that it is frozen', () => {
    const { clock, attempt, asked, frozen } = scene();
    for (const name of ['a', 'b', 'c']) attempt(name);
    clock.advance(SILENCE);
    attempt('d');
    clock.advance(SILENCE);
    assert.equal(asked().length, 3);
    assert.deepEqual(frozen, ['a', 'b', 'c', 'd']);
  });
});

describe('it is not asked', () => {
  test('once nobody waits: questions are given up with the last attempt', () => {
    const { clock, attempt, asked, open } = scene();
    const [one, other] = [attempt('a'), attempt('b')];
    clock.advance(SILENCE);
    one.stop();
    assert.equal(open(), 1);
    other.stop();
    assert.equal(open(), 0);
    clock.advance(10 * SILENCE);
    assert.equal(asked().length, 1);
    assert.equal(clock.alarms(), 0);
  });

  test('for a client that reads slowly, whose silence counts from when it reads again', () => {
    const { clock, attempt, asked, open, frozen } = scene();
    const one = attempt('a');
    one.bytes(true);
    one.paused(true);
    clock.advance(5 * SILENCE);
    assert.deepEqual(asked(), []);
    one.paused(false);
    clock.advance(SILENCE - 1);
    assert.deepEqual(asked(), []);
    clock.advance(1);
    assert.equal(open(), 1);
    one.paused(true);
    assert.equal(open(), 0);
    clock.advance(5 * SILENCE);
    assert.deepEqual([asked().length, frozen], [1, []]);
  });
});

test('that it is frozen is found out also where each client waits for less than that takes', () => {
  const { clock, attempt, frozen } = scene();
  const short = 25_000;
  for (const name of ['a', 'b', 'c']) {
    const one = attempt(name);
    clock.advance(short);
    one.stop();
    clock.advance(500);
  }
  assert.deepEqual(frozen, ['c']);
});

test('questions that stayed open long before count for nothing', () => {
  const { clock, attempt, asked, frozen } = scene();
  const one = attempt('a');
  clock.advance(SILENCE + 2 * STEP + 1);
  one.stop();
  clock.advance(STEP + 1);
  attempt('b');
  clock.advance(SILENCE - 1);
  assert.equal(asked().length, 3);
  clock.advance(SILENCE);
  assert.deepEqual([asked().length, frozen], [6, []]);
  clock.advance(1);
  assert.deepEqual(frozen, ['b']);
});

test('a controller that slept itself begins anew: what came meanwhile is not read yet', () => {
  const { clock, attempt, asked, open, frozen } = scene();
  attempt('a');
  clock.advance(SILENCE + 2 * STEP);
  clock.sleep(3_600_000);
  assert.deepEqual(frozen, []);
  assert.equal(open(), 1);
  clock.advance(3 * STEP - 1);
  assert.deepEqual(frozen, []);
  clock.advance(1);
  assert.deepEqual(frozen, ['a']);
  assert.equal(asked().length, 6);
});
