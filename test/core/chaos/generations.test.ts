/** The checker of chaos reads from llama-servers' own logs what they did, and finds what they should not have done. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Outcome } from '../../chaos/check/ended.ts';
import { checkGenerations, type LogEvidence } from '../../chaos/check/generations.ts';
import { markOf, withMark } from '../../chaos/clients/mark.ts';
import { hurtBefore, lastStrike } from '../../chaos/faults/hurt.ts';
import { type Generation, generationsOf, tells } from '../../chaos/logs/generations.ts';
import type { Transcript } from '../../chaos/transcript.ts';
import { transcriptOf } from './transcript.ts';

/** Lines as llama-server (build 11669) wrote them, with Docker's times. */
function log(...lines: readonly (readonly [second: number, text: string])[]): string[] {
  return lines.map(([second, text]) => `${new Date(second * 1000).toISOString()} ${text}`);
}

const settings = (topK: number): string =>
  `\ttop_k = ${topK}, top_p = 0.950, min_p = 0.050, xtc_probability = 0.000, temp = 0.000`;
const begun = (task: number) =>
  `0.14.792.688 I slot launch_slot_: id  0 | task ${task} | processing task, is_child = 0`;
const timed = (task: number) =>
  `0.14.870.317 I slot print_timing: id  0 | task ${task} |       total time =      77.37 ms /    52 tokens`;
const cancelled = (task: number) => `0.15.594.984 W srv          stop: cancel task, id_task = ${task}`;
const released = (task: number) =>
  `0.14.873.278 I slot      release: id  0 | task ${task} | stop processing: n_tokens = 51, truncated = 0`;

describe('the log of a llama-server', () => {
  test('tells of each generation whose it was, when it began, when and how its slot was free again', () => {
    const lines = log(
      ...([
        [1, settings(1_000_007)],
        [1, begun(0)],
        [2, timed(0)],
        [3, released(0)],
        [4, settings(40)],
        [4, begun(21)],
        [5, cancelled(21)],
        [6, released(21)],
        [7, settings(1_000_008)],
        [7, begun(30)],
        [8, released(30)],
        [9, settings(1_000_009)],
        [9, begun(31)],
      ] as const),
    );
    const told = generationsOf('one', lines, 1000).map(({ task, mark, begunAt, end }) => [
      task,
      mark,
      begunAt,
      end,
    ]);
    assert.deepEqual(told, [
      [0, 1_000_007, 0, { kind: 'whole', at: 2000 }],
      [21, null, 3000, { kind: 'cancelled', at: 5000 }],
      [30, 1_000_008, 6000, { kind: 'failed', at: 7000 }],
      [31, 1_000_009, 8000, null],
    ]);
  });

  test('is kept only as far as it tells of generations', () => {
    const kept = [settings(40), begun(1), timed(1), cancelled(1), released(1)];
    assert.deepEqual([...kept, '0.14.873.372 I srv  update_slots: all slots are idle'].filter(tells), kept);
  });

  test('carries the mark of a request', () => {
    const body = withMark({ model: 'single' }, 12);
    const [one] = generationsOf('one', log([1, settings(Number(body['top_k']))], [1, begun(3)]), 0);
    assert.equal(one?.mark, markOf(body));
    assert.equal(markOf({ top_k: 40 }), null);
  });
});

const MARK = 1_000_001;
const GPU = 'llamastead-chaos-single-gpu-00000a';
const CPU = 'llamastead-chaos-single-cpu-00000b';

interface Asked extends Partial<Transcript> {
  readonly outcome?: Outcome;
  readonly attempts?: number;
}

function asked({ outcome = 'answered', attempts = 1, ...given }: Asked = {}): LogEvidence['ends'][number] {
  const answerHeaders = {
    'llamastead-attempts': String(attempts),
    'llamastead-placement': attempts > 1 ? 'cpu' : 'gpu',
  };
  return { transcript: transcriptOf({ body: { top_k: MARK }, answerHeaders, ...given }), outcome };
}

let task = 0;
function generation(one: Partial<Generation> = {}): Generation {
  task += 1;
  return {
    ...{ container: GPU, task, mark: MARK, begunAt: 1000 },
    end: { kind: 'whole', at: 5000 },
    ...one,
  };
}

function rules(evidence: Partial<LogEvidence>): string[] {
  const findings = checkGenerations({
    ...{
      generations: [],
      ends: [],
      running: new Set(),
      deaths: [],
      givenUp: new Set(),
      hurtBefore: () => false,
    },
    ...evidence,
  });
  return findings.map(({ rule }) => rule);
}

const DIED = { end: null };
const LATER = { container: CPU, begunAt: 7000, end: { kind: 'whole', at: 9000 } } as const;
/** By another instance of the same placement. */
const AGAIN = { ...LATER, container: 'llamastead-chaos-single-gpu-00000c' } as const;
const KEY = { headers: { 'idempotency-key': 'k' } };

describe('what llama-servers did', () => {
  test('is right where each attempt was one generation, and those before the last died', () => {
    assert.deepEqual(rules({ ends: [asked()], generations: [generation()] }), []);
    const moved = [generation(DIED), generation(LATER)];
    assert.deepEqual(rules({ ends: [asked({ attempts: 2 })], generations: moved }), []);
  });

  test('a generation more than the client was told of is found', () => {
    const generations = [generation(DIED), generation(AGAIN)];
    assert.deepEqual(rules({ ends: [asked()], generations }), ['no more generations than attempts']);
  });

  test('the first generation of a stream whose head came while it waited is not told', () => {
    const early = { answerHeaders: { 'llamastead-attempts': '0' } };
    assert.deepEqual(rules({ ends: [asked(early)], generations: [generation()] }), []);
    const refused = asked({ ...early, outcome: 'refused', status: 503 });
    assert.deepEqual(rules({ ends: [refused], generations: [generation(DIED)] }), [
      'no more generations than attempts',
    ]);
  });

  test('a text that was made whole and then again is found, also within the attempts', () => {
    const generations = [generation(), generation(LATER)];
    assert.deepEqual(rules({ ends: [asked({ attempts: 2 })], generations }), ['no generation is doubled']);
  });

  test('a server that was given up may have ended its text after all', () => {
    const ends = [asked({ attempts: 2 })];
    const generations = [generation(), generation(LATER)];
    assert.deepEqual(rules({ ends, generations, givenUp: new Set(['chaos-1']) }), []);
    assert.equal(rules({ ends, generations, givenUp: new Set(['chaos-2']) }).length, 1);
  });

  test('a whole text may be made again where its server was hit before it arrived', () => {
    const strikes = [{ fault: 'cut a text', hit: `${GPU}, by kill`, from: 5500, to: 5600 }];
    const generations = [generation(), generation(LATER)];
    const ends = [asked({ attempts: 2 })];
    assert.deepEqual(rules({ ends, generations, hurtBefore: hurtBefore(strikes) }), []);
    const other = [{ ...strikes[0], fault: 'kill', hit: CPU, from: 0, to: 1 }];
    assert.equal(rules({ ends, generations, hurtBefore: hurtBefore(other) }).length, 1);
    const all = [{ fault: 'restart the engine', hit: 'engine', from: 0, to: 1 }];
    assert.deepEqual(rules({ ends, generations, hurtBefore: hurtBefore(all) }), []);
  });

  test('what was done to a server last is told, of what came while it was of interest', () => {
    const strikes = [
      { fault: 'kill', hit: GPU, from: 100, to: 110 },
      { fault: 'cut a text', hit: `${GPU}, by freeze`, from: 200, to: 210 },
      { fault: 'kill the holder', hit: 'holder', from: 300, to: 310 },
    ];
    assert.equal(lastStrike(strikes, GPU, 0, 150), 'kill');
    assert.equal(lastStrike(strikes, GPU, 0, 250), 'freeze');
    assert.equal(lastStrike(strikes, GPU, 250, 299), null);
    assert.equal(lastStrike(strikes, CPU, 0, 400), 'kill the holder');
    assert.equal(lastStrike(strikes, CPU, 0, 250), null);
  });

  test('a request that is never to be replayed is generated once', () => {
    const headers = { 'llamastead-replay': 'never' };
    const generations = [generation(DIED), generation(LATER)];
    const ends = [asked({ headers, attempts: 2 })];
    assert.deepEqual(rules({ ends, generations }), ['no more generations than attempts']);
  });

  test('under one key there is one answer, and one generation', () => {
    const ends = [asked({ ...KEY }), asked({ ...KEY, id: 'chaos-1-again', sentAt: 3000, endedAt: 9500 })];
    assert.deepEqual(rules({ ends, generations: [generation()] }), []);
    assert.deepEqual(rules({ ends, generations: [generation(), generation(AGAIN)] }), [
      'no more generations than attempts',
      'no generation is doubled',
    ]);
    const deaths = [{ from: 6000, to: 6500 }];
    assert.deepEqual(rules({ ends, generations: [generation(), generation(AGAIN)], deaths }), []);
    const [first, second] = [asked({ ...KEY, outcome: 'refused' }), ends[1] ?? asked()];
    assert.deepEqual(
      rules({ ends: [first, second], generations: [generation(DIED), generation(AGAIN)] }),
      [],
    );
  });

  test('a slot that was never released is found, unless its container has gone', () => {
    const evidence = { ends: [asked()], generations: [generation({ end: null })] };
    assert.deepEqual(rules({ ...evidence, running: new Set([GPU]) }), ['each slot is released']);
    assert.deepEqual(rules({ ...evidence, running: new Set([CPU]) }), []);
  });

  test('a generation that goes on, or begins, for a client that left is found', () => {
    const left = { outcome: 'left', endedAt: 2000, end: { kind: 'left', why: 'after 2000 ms' } } as const;
    const ends = [asked(left)];
    const until = (at: number, container = CPU) => [
      generation({ container, end: { kind: 'cancelled', at } }),
    ];
    assert.deepEqual(rules({ ends, generations: until(3000) }), []);
    assert.deepEqual(rules({ ends, generations: until(60_000) }), ['who leaves is let go']);
    assert.deepEqual(rules({ ends, generations: until(60_000), hurtBefore: () => true }), []);
    const other = generation({
      container: GPU,
      mark: null,
      begunAt: 30_000,
      end: { kind: 'whole', at: 31_000 },
    });
    assert.deepEqual(rules({ ends, generations: until(60_000, GPU) }), [], 'it compiles its shaders');
    assert.deepEqual(rules({ ends, generations: [...until(60_000, GPU), other] }), ['who leaves is let go']);
    const late = [generation({ begunAt: 9000, end: { kind: 'cancelled', at: 9100 } })];
    assert.deepEqual(rules({ ends, generations: late }), ['who leaves is let go']);
  });

  test('an answer that no log tells of is found, and a generation that nobody asked for', () => {
    assert.deepEqual(rules({ ends: [asked()] }), ['each answer was generated']);
    assert.deepEqual(rules({ ends: [asked({ outcome: 'refused', attempts: 0 })] }), []);
    assert.deepEqual(rules({ generations: [generation()] }), ['no more generations than attempts']);
  });

  test('an answer that was made elsewhere than its client was told is found', () => {
    const onCpu = [generation({ container: CPU })];
    assert.deepEqual(rules({ ends: [asked()], generations: onCpu }), ['an answer comes from where it says']);
    const raw = ': llamastead attempt=1 placement=cpu\n\n';
    assert.deepEqual(rules({ ends: [asked({ raw })], generations: onCpu }), []);
    // All was generated before the cut.
    assert.deepEqual(rules({ ends: [asked({ attempts: 2 })], generations: [generation()] }), []);
  });

  test('an instance proves once that it serves', () => {
    const proof = (container: string) => generation({ mark: null, container });
    assert.deepEqual(rules({ generations: [proof(GPU), proof(CPU)] }), []);
    assert.deepEqual(rules({ generations: [proof(GPU), proof(GPU)] }), ['nothing is generated unasked']);
    const deaths = [{ from: 0, to: 1 }];
    assert.deepEqual(rules({ generations: [proof(GPU), proof(GPU)], deaths }), []);
  });
});
