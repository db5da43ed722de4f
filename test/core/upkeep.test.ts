/** Instances that go by themselves: which, when, why, and how gently. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Model, Policy } from '../../app/core/types.ts';
import { idleDue } from '../../app/core/upkeep.ts';
import { GIB, model, policy, profile } from '../support/model.ts';
import { DEAD, type EffectOf, makeWorld, RESET, type World } from '../support/world.ts';

const chat = (more: Partial<Model> = {}) => policy([model('chat', more)]);
const configure = (world: World, next: Policy) =>
  world.submit({ type: 'configured', policy: next, why: 'reload', settings: [] });
const whys = (world: World) =>
  world.facts.filter(({ type }) => type === 'model_unloading').map(({ placement, why }) => [placement, why]);
const removals = (world: World) =>
  world.effects
    .filter((effect): effect is EffectOf<'remove_instance'> => effect.type === 'remove_instance')
    .map(({ how, examine }) => [how, examine]);

/** `chat` is idle on the GPU. */
function idle(more: Partial<Model> = {}): World {
  const world = makeWorld({ policy: chat(more) });
  world.end(world.request());
  return world;
}

describe('an idle instance', () => {
  test('goes gently when its time is over, and is told with what it gives back', () => {
    const world = idle();
    world.advance(600_000);
    assert.deepEqual(
      world.facts.find(({ type }) => type === 'model_unloading'),
      { type: 'model_unloading', model: 'chat', placement: 'gpu', engine: 'local', why: 'idle', bytes: GIB },
    );
    assert.deepEqual(removals(world), [['gentle', false]]);
  });

  test('stays while a request waits that it may take in a moment', () => {
    const world = makeWorld({
      policy: chat({ idleUnloadMs: 10 }),
      evidence: () => ({ ...DEAD, running: true, exitCode: null }),
    });
    const id = world.request();
    world.end(id, { kind: 'failed', failure: { kind: 'refused' }, forwarded: 'nothing' });
    world.advance(10);
    assert.deepEqual(whys(world), []);
    world.advance(10);
    assert.ok(world.grantOf(id));
  });

  test('is due when its time is over, and not while it answers, goes, or is kept', () => {
    const due = (world: World) => {
      const [instance] = world.loop.state.instances.values();
      assert.ok(instance);
      return idleDue(world.loop.state, instance);
    };
    const world = idle();
    assert.equal(due(world), world.now().mono + 600_000);
    world.request();
    assert.equal(due(world), null);
    world.submit({ type: 'command', id: 1, command: { do: 'unload', model: 'chat' } });
    assert.equal(due(world), null);
    assert.equal(due(idle({ keepLoaded: true })), null);
    assert.equal(due(idle({ idleUnloadMs: null })), null);
    const leaving = makeWorld({ policy: chat(), holdRemovals: true });
    leaving.end(leaving.request());
    leaving.submit({ type: 'command', id: 1, command: { do: 'unload', model: 'chat' } });
    assert.equal(due(leaving), null);
  });
});

describe('an instance that the configuration no longer wants', () => {
  test('goes with the reason', () => {
    const anew = { gpu: profile('chat', 'gpu', { hash: 'chat-gpu-2' }), cpu: profile('chat', 'cpu') };
    const table: readonly [string, Policy, string][] = [
      ['another definition', chat({ profiles: anew }), 'config'],
      ['no such placement', chat({ profiles: { cpu: profile('chat', 'cpu') } }), 'config'],
      ['no such model', policy([model('other')]), 'config'],
      ['another mode', chat({ mode: 'cpu' }), 'mode'],
    ];
    for (const [name, next, why] of table) {
      const world = idle();
      configure(world, next);
      assert.deepEqual(whys(world), [['gpu', why]], name);
    }
  });

  test('stays where only something else changed', () => {
    const world = idle();
    configure(world, chat({ idleUnloadMs: 1_000_000 }));
    assert.deepEqual(whys(world), []);
  });

  test('is killed in the middle of its start, and the request goes elsewhere', () => {
    const world = makeWorld({ policy: chat(), holdStarts: true });
    const id = world.request();
    configure(world, chat({ mode: 'cpu' }));
    assert.deepEqual(removals(world), [['kill', false]]);
    assert.deepEqual(world.placements(), ['cpu']);
    for (const _ of [1, 2]) world.finishStart();
    assert.equal(world.grantOf(id)?.placement, 'cpu');
  });
});

test('an instance that failed is killed and examined', () => {
  const world = makeWorld({ policy: chat() });
  world.end(world.request(), RESET);
  assert.deepEqual(removals(world), [['kill', true]]);
});

describe('a placement that only stood in', () => {
  test('goes when the better one is ready, not when that starts', () => {
    const world = makeWorld({ policy: chat(), holdStarts: true });
    const id = world.request();
    world.finishStart();
    world.end(id, RESET);
    world.finishStart();
    world.end(id);
    world.advance(30_000);
    assert.deepEqual([world.placements(), whys(world)], [['cpu', 'gpu'], []]);
    world.finishStart();
    assert.deepEqual(whys(world), [['cpu', 'recovered']]);
  });

  test('goes also where the CPU is kept warm beside it', () => {
    const placements = ['gpu', 'split', 'cpu'] as const;
    const standing = (standby: 'cold' | 'warm') => {
      const cpu = profile('chat', 'cpu', { standby });
      return chat({
        placements,
        profiles: { gpu: profile('chat', 'gpu'), split: profile('chat', 'split'), cpu },
      });
    };
    const world = makeWorld({ policy: standing('cold') });
    const id = world.request();
    world.end(id, RESET);
    world.end(id);
    assert.deepEqual(world.placements(), ['split']);
    configure(world, standing('warm'));
    assert.deepEqual(world.placements(), ['split', 'cpu']);
    world.advance(30_000);
    assert.deepEqual(world.placements().sort(), ['cpu', 'gpu']);
    assert.deepEqual(whys(world), [['split', 'recovered']]);
  });
});
