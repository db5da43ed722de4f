/** What the core does differently while a drill runs. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
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
