/** What a person mended, and which outages it ends at once. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { definitionChanged, deviceCame, imageCame } from '../../app/core/cause-gone.ts';
import { type Decision, noDecision } from '../../app/core/changes.ts';
import type { State } from '../../app/core/state.ts';
import type { Placement, Policy, Profile, Reason } from '../../app/core/types.ts';
import { GIB, model, policy, profile } from '../support/model.ts';
import { makeWorld } from '../support/world.ts';

const NOW = { mono: 7_000, wall: 9_000 };

const home = (gpu: Partial<Profile> = {}) =>
  policy([model('chat', { profiles: { gpu: profile('chat', 'gpu', gpu), cpu: profile('chat', 'cpu') } })]);

/** That placement of `chat` is out of service for this reason. */
function out(reason: Reason, placement: Placement = 'gpu', before: Policy = home()): State {
  const state = structuredClone(makeWorld({ policy: before }).loop.state);
  const since = { mono: 1, wall: 2 };
  const outage = { placement, reason, detail: 'why', since, retryAt: 60_000, failures: 3 };
  state.models.get('chat')?.outages.set(placement, outage);
  return state;
}

function isRetried(state: State, mend: (decision: Decision) => void): boolean {
  const decision = noDecision();
  mend(decision);
  if (decision.changes.length === 0) return false;
  const [outage] = state.models.get('chat')?.outages.values() ?? [];
  assert.deepEqual(decision, {
    changes: [{ type: 'outage_set', model: 'chat', outage: { ...outage, failures: 0, retryAt: 7_000 } }],
    facts: [],
    effects: [],
  });
  return true;
}

describe('an image that came', () => {
  const ROWS: readonly [string, Reason, Placement, string, boolean][] = [
    ['has those tried that could not start for the lack of it', 'start_failed', 'gpu', 'llama:gpu', true],
    ['is nothing to those of another image', 'start_failed', 'gpu', 'llama:cpu', false],
    ['is nothing to those that failed of something else', 'exit', 'gpu', 'llama:gpu', false],
    ['is nothing to a placement that the model no longer has', 'start_failed', 'split', 'llama:gpu', false],
  ];
  for (const [name, reason, placement, image, retried] of ROWS) {
    test(name, () => {
      const state = out(reason, placement);
      assert.equal(
        isRetried(state, (decision) => imageCame(decision, state, image, NOW)),
        retried,
      );
    });
  }
});

describe('a GPU that came', () => {
  const ROWS: readonly [string, Reason, Placement, string, boolean][] = [
    ['has those tried that missed it', 'device_missing', 'gpu', 'local', true],
    ['has those tried that lost it', 'gpu_lost', 'gpu', 'local', true],
    ['has those tried that could not start', 'start_failed', 'gpu', 'local', true],
    ['is nothing to those that failed of something else', 'out_of_memory', 'gpu', 'local', false],
    ['is nothing to the CPU', 'start_failed', 'cpu', 'local', false],
    ['is nothing to another engine', 'gpu_lost', 'gpu', 'tower', false],
    ['is nothing to a placement that the model no longer has', 'gpu_lost', 'split', 'local', false],
  ];
  for (const [name, reason, placement, engine, retried] of ROWS) {
    test(name, () => {
      const state = out(reason, placement);
      assert.equal(
        isRetried(state, (decision) => deviceCame(decision, state, state.policy, engine, NOW)),
        retried,
      );
    });
  }
});

describe('another configuration', () => {
  const more = { memory: { reserve: 'auto', budget: 9 * GIB } } as const;
  const ROWS: readonly [string, Reason, Policy, boolean][] = [
    ['that changes nothing of it leaves it to its time', 'does_not_fit', home(), false],
    [
      'with other limits of memory has those tried that did not fit',
      'does_not_fit',
      { ...home(), ...more },
      true,
    ],
    ['with other limits of memory is nothing to the others', 'exit', { ...home(), ...more }, false],
    ['of the placement has it tried, whatever it failed of', 'exit', home({ hash: 'anew' }), true],
    ['of another model is nothing to it', 'exit', policy([...home().models.values(), model('new')]), false],
    ['without the model is nothing to it', 'exit', policy([model('new')]), false],
    [
      'without the placement has it tried, which nobody does',
      'exit',
      policy([model('chat', { profiles: {} })]),
      true,
    ],
  ];
  for (const [name, reason, next, retried] of ROWS) {
    test(name, () => {
      const state = out(reason);
      assert.equal(
        isRetried(state, (decision) => definitionChanged(decision, state, next, NOW)),
        retried,
      );
    });
  }

  test('with a model that had its outage before it was configured has it tried', () => {
    const state = out('exit');
    state.configured = policy([]);
    assert.equal(
      isRetried(state, (decision) => definitionChanged(decision, state, home(), NOW)),
      true,
    );
  });

  test('which is the first one meets no outage', () => {
    const state = out('exit');
    state.configured = null;
    assert.equal(
      isRetried(state, (decision) => definitionChanged(decision, state, home(), NOW)),
      false,
    );
  });
});
