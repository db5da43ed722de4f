/** What the core does differently while a drill runs. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ExitEvidence } from '../../app/core/types.ts';
import { model, policy } from '../support/model.ts';
import { COMPLETED, DEAD, makeWorld, RESET, type World, type WorldOptions } from '../support/world.ts';

const BEGAN = { type: 'drill_began', id: 'd1', scenario: 'kill', model: 'chat' } as const;
const ENDED = { type: 'drill_ended', verdict: 'passed', why: 'All went well.' } as const;
const BY_LIMIT: ExitEvidence = { ...DEAD, oomKilled: true };

function world(more: Partial<WorldOptions> = {}): World {
  return makeWorld({ policy: policy([model('chat'), model('other')]), ...more });
}

test('a drill is told when it begins and when it ends, with its verdict and its time', () => {
  const it = world();
  it.submit(BEGAN);
  it.advance(2_500);
  it.submit(ENDED);
  assert.deepEqual(it.facts.slice(-2), [
    { type: 'drill_started', model: 'chat', scenario: 'kill' },
    {
      type: 'drill_finished',
      model: 'chat',
      scenario: 'kill',
      verdict: 'passed',
      detail: 'All went well.',
      seconds: 2.5,
    },
  ]);
  const { at: _, ...last } = it.loop.state.lastDrill ?? {};
  assert.deepEqual(last, { model: 'chat', scenario: 'kill', verdict: 'passed' });
});

test('only one drill runs at a time, and an end without one says nothing', () => {
  const it = world();
  it.submit(BEGAN);
  it.submit({ ...BEGAN, id: 'd2', model: 'other' });
  assert.equal(it.loop.state.drill?.model, 'chat');
  it.submit(ENDED);
  it.submit(ENDED);
  assert.deepEqual(it.factTypes(), ['drill_started', 'drill_finished']);
});

test('one that was run from outside is told when it is over, with its verdict and its time', () => {
  const it = world();
  const { why, ...rest } = { why: 'All well.', scenario: 'controller-restart', model: 'chat' } as const;
  it.submit({ type: 'drill_reported', ...rest, why, verdict: 'passed', seconds: 12.5 });
  const finished = { type: 'drill_finished', ...rest, verdict: 'passed', detail: why, seconds: 12.5 };
  assert.deepEqual(it.facts, [finished]);
  assert.equal(it.loop.state.drill, null);
});

test('to be eased or sealed changes nothing where it is so, or where none runs', () => {
  const it = world();
  for (const begin of [false, true]) {
    if (begin) it.submit(BEGAN);
    const { version } = it.loop.state;
    const before = it.loop.state.drill;
    it.submit({ type: 'drill_sealed' });
    if (!begin) it.submit({ type: 'drill_eased' });
    assert.equal(it.loop.state.version, version);
    assert.equal(it.loop.state.drill, before);
  }
});

test("until the failure was made only the drill's own requests are granted; the others wait, then go on", () => {
  const it = world();
  it.end(it.request());
  it.submit(BEGAN);
  const own = it.request({ drill: true });
  const others = it.request();
  const elsewhere = it.request({ model: 'other' });
  assert.ok(it.grantOf(own));
  assert.equal(it.grantOf(others), undefined);
  assert.ok(it.grantOf(elsewhere), 'a drill holds up its own model alone');
  it.submit({ type: 'drill_eased' });
  assert.ok(it.grantOf(others));
  it.end(others);
  it.submit({ type: 'drill_sealed' });
  const later = it.request();
  assert.equal(it.grantOf(later), undefined);
  it.submit(ENDED);
  assert.ok(it.grantOf(later));
});

test('a death in a drill convicts nobody', () => {
  const it = world({ evidence: () => ({ ...DEAD, exitCode: 1 }) });
  it.end(it.request());
  it.submit(BEGAN);
  const own = it.request({ drill: true });
  it.end(own, RESET);
  assert.equal(it.grantOf(own)?.placement, 'cpu');
  assert.equal(it.loop.state.requests.get(own)?.aloneDeaths, 0);
  it.end(own, COMPLETED);
});

test("a kill by the limit that a drill made does not raise the model's limit", () => {
  const started: number[] = [];
  const it = world({
    startFails: ({ memoryLimit, profile }) => {
      started.push(memoryLimit);
      return profile.placement === 'gpu' && started.length === 1 ? BY_LIMIT : null;
    },
  });
  it.submit(BEGAN);
  const own = it.request({ drill: true });
  assert.equal(it.grantOf(own)?.placement, 'cpu');
  assert.equal(it.loop.state.raisedLimits.size, 0);
  it.end(own);
  it.advance(30_000);
  assert.deepEqual(it.placements().includes('gpu'), true, 'the GPU is back after its usual wait');
  assert.equal(started[0], started[2]);
});

test('a model under a drill is not unloaded for idleness and its GPU is brought back; afterwards it is', () => {
  const short = { idleUnloadMs: 1_000 };
  const it = makeWorld({ policy: policy([model('chat', short)], { gpus: [] }) });
  it.end(it.request());
  it.submit(BEGAN);
  it.advance(5_000);
  assert.deepEqual(it.placements(), ['gpu']);
  it.submit(ENDED);
  assert.deepEqual(it.placements(), []);
});

describe('what a drill asks is special, so it teaches nothing:', () => {
  const timings = { promptTokens: 100, promptMs: 1_000, cachedTokens: 0, tokens: 100, tokensMs: 1_000 };
  const answer = (it: World, drill: boolean): void => {
    const request = it.request({ drill });
    it.advance(1_000);
    it.submit({ type: 'attempt_ended', request, outcome: COMPLETED, timings });
  };

  test('no speed, no share of the prompt cache, no service time', () => {
    const it = world();
    it.submit(BEGAN);
    answer(it, true);
    const { serviceMs, readShare } = it.loop.state.models.get('chat') ?? {};
    assert.deepEqual([it.loop.state.speeds.size, serviceMs, readShare], [0, {}, {}]);
    it.submit(ENDED);
    answer(it, false);
    const own = it.loop.state.models.get('chat');
    assert.deepEqual(
      [it.loop.state.speeds.size, own?.serviceMs, own?.readShare],
      [1, { gpu: 1_000 }, { gpu: 1 }],
    );
  });

  test('no problem of a prompt that was made too long', () => {
    const failure = {
      kind: 'http',
      status: 400,
      message: 'too long',
      overflow: { tokens: 9_000, context: 2_048 },
    } as const;
    for (const drill of [true, false]) {
      const it = world({ tokensOf: () => 9_000 });
      it.submit({ ...BEGAN, scenario: 'long-prompt' });
      it.submit({ type: 'drill_eased' });
      it.end(it.request({ drill }), { kind: 'failed', failure, forwarded: 'nothing' });
      const [refused] = Array.from({ length: 3 }, () => it.request({ drill, promptBytes: 40_000 })).slice(2);
      assert.equal(it.refusalOf(refused ?? 0)?.code, 'context_exceeded');
      assert.equal(it.loop.state.problems.size, drill ? 0 : 1);
    }
  });
});

describe("a drill's requests and the line:", () => {
  const line = (depth: number) =>
    world({
      policy: policy([model('chat')], { queue: { depth, deadlineMs: 300_000 } }),
      holdStarts: true,
    });

  test('they push nobody out of a full one, and are taken all the same', () => {
    const it = line(2);
    it.submit(BEGAN);
    const others = [it.request({ background: true }), it.request({ background: true })];
    const own = it.request({ drill: true });
    assert.deepEqual(
      [...others, own].map((id) => it.refusalOf(id)),
      [undefined, undefined, undefined],
    );
    it.finishStart();
    assert.ok(it.grantOf(own));
  });

  test('they take no place from those who come, nor give their own to them', () => {
    const it = line(2);
    it.submit(BEGAN);
    const own = [0, 1, 2].map(() => it.request({ drill: true, background: true }));
    const others = [it.request(), it.request({ client: 'another' })];
    assert.deepEqual(
      [...own, ...others].map((id) => it.refusalOf(id)),
      Array(5).fill(undefined),
    );
    assert.equal(it.refusalOf(it.request({ client: 'third' }))?.code, 'queue_full');
  });
});
