/** A kill by an instance's own memory limit shows that its estimate was short: the limit is raised, once. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { InstancePlan } from '../../app/core/effects.ts';
import { evolve } from '../../app/core/evolve.ts';
import { emptyState } from '../../app/core/state.ts';
import { model, policy } from '../support/model.ts';
import { DEAD, makeWorld } from '../support/world.ts';

const BY_LIMIT = { ...DEAD, oomKilled: true };
const ONLY_CPU = policy([model('chat', { placements: ['cpu'] })]);

/** One run of the controller: the limits of all its starts, the first `kills` of which end by their limit. */
function run(kills: number, carried: readonly string[] = []) {
  const limits: number[] = [];
  const world = makeWorld({
    policy: ONLY_CPU,
    carried: { raisedLimits: carried },
    startFails: ({ memoryLimit }: InstancePlan) => {
      limits.push(memoryLimit);
      return limits.length <= kills ? BY_LIMIT : null;
    },
  });
  world.request();
  return { world, limits, raised: [...world.loop.state.raisedLimits] };
}

test('the limit is raised after a kill by it, and the instance is started again at once', () => {
  const { limits, world } = run(1);
  assert.equal(limits.length, 2);
  assert.ok((limits[1] ?? 0) > (limits[0] ?? 0));
  assert.deepEqual(world.placements(), ['cpu']);
});

test('it is still raised after a restart of the controller, and not raised again', () => {
  const before = run(1);
  const after = run(0, before.raised);
  assert.deepEqual(after.limits, [before.limits[1]]);
  const again = run(1, before.raised);
  assert.deepEqual(again.raised, before.raised);
  assert.equal(again.limits.length, 1, 'a second kill is a failure like others');
});

test('of profiles that were ever raised only the last hundred are remembered', () => {
  const state = emptyState();
  for (let n = 0; n < 150; n += 1) evolve(state, { type: 'limit_raised', hash: `h${n}` });
  assert.equal(state.raisedLimits.size, 100);
  assert.ok(state.raisedLimits.has('h149'));
});
