/** A model that runs on the CPU because nothing can be begun on its GPU returns to it by itself. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { replaceStandIns, standIn } from '../../app/core/stand-in.ts';
import { emptyState } from '../../app/core/state.ts';
import type { Model, Placement, Policy } from '../../app/core/types.ts';
import { model, need, policy, profile } from '../support/model.ts';
import { makeWorld, RESET, type World, type WorldOptions } from '../support/world.ts';

const PROBLEM = { code: 'docker_not_running', text: 'Docker does not run.', fix: 'Start it.' } as const;
const UNREADABLE = { code: 'model_unreadable', text: 'It is torn.', fix: 'Copy it again.' } as const;
const gpu = { ...profile('chat', 'gpu'), engine: 'tower' };
const chat = model('chat', { profiles: { gpu, cpu: profile('chat', 'cpu') } });
const failover = { resume: 'never', returnAfterMs: 30_000 } as const;

const home = (more: Partial<WorldOptions> = {}) =>
  makeWorld({ policy: policy([chat], { failover }), ...more });

function lose(world: World): void {
  world.submit({ type: 'engine_unreachable', engine: 'tower', problem: PROBLEM });
}

function comeBack(world: World): void {
  world.submit({ type: 'engine_reachable', engine: 'tower' });
  world.submit({ type: 'containers_observed', engine: 'tower', containers: [] });
}

/** A request is answered by the CPU. */
function standsIn(world: World): void {
  const request = world.request();
  assert.equal(world.grantOf(request)?.placement, 'cpu');
  world.end(request);
}

const gpuOutage = (world: World) => world.loop.state.models.get('chat')?.outages.get('gpu');

describe('the engine of the GPU is away', () => {
  for (const [what, wasThere, away] of [
    ['was never there', false, 0],
    ['went a moment ago', true, 0],
    ['went long ago', true, 60_000],
  ] as const) {
    test(`and ${what}: the model returns when it is back`, () => {
      const world = home();
      if (wasThere) comeBack(world);
      lose(world);
      world.advance(away);
      standsIn(world);
      assert.equal(gpuOutage(world)?.reason, 'connection_lost');
      assert.equal(gpuOutage(world)?.detail, PROBLEM.text);
      world.advance(120_000);
      assert.deepEqual(world.placements(), ['cpu'], 'nothing is to be had there yet');
      comeBack(world);
      assert.deepEqual(world.placements(), ['gpu'], 'its time was over long ago');
      assert.equal(gpuOutage(world), undefined);
      assert.ok(world.factTypes().includes('recovered'));
    });
  }

  test('only for a moment: the model returns after the usual wait, which does not grow', () => {
    const world = home();
    for (let round = 0; round < 3; round += 1) {
      lose(world);
      if (round > 0) world.submit({ type: 'command', id: round, command: { do: 'unload', model: 'chat' } });
      standsIn(world);
      world.advance(1_000);
      comeBack(world);
      world.advance(28_999);
      assert.deepEqual(world.placements(), ['cpu'], `round ${round}`);
      world.advance(1);
      assert.deepEqual(world.placements(), ['gpu'], `round ${round}`);
    }
  });

  test('and its CPU instance was adopted: no load went past the GPU, and the model returns', () => {
    const world = home();
    lose(world);
    const container = { container: 'c', engine: 'local', model: 'chat', placement: 'cpu', hash: 'chat-cpu' };
    const observed = { ...container, placement: 'cpu', running: true, instance: null } as const;
    world.submit({ type: 'containers_observed', engine: 'local', containers: [observed] });
    assert.deepEqual(world.placements(), ['cpu']);
    assert.equal(world.started.length, 0);
    world.advance(30_000);
    comeBack(world);
    assert.deepEqual(world.placements(), ['gpu']);
  });

  test('and an instance that does not go is still there: the model returns all the same', () => {
    const world = home({ holdRemovals: true });
    comeBack(world);
    const request = world.request();
    assert.equal(world.grantOf(request)?.placement, 'gpu');
    world.end(request);
    world.submit({ type: 'command', id: 1, command: { do: 'unload', model: 'chat' } });
    lose(world);
    world.finishRemoval('stuck');
    world.advance(60_000);
    standsIn(world);
    world.advance(30_000);
    comeBack(world);
    assert.ok(world.placements().includes('gpu'));
    assert.equal(gpuOutage(world), undefined);
  });

  test('after a failure: the reason and the count of the failure stay', () => {
    const world = home();
    comeBack(world);
    const request = world.request();
    world.end(request, RESET);
    const before = gpuOutage(world);
    assert.ok(before !== undefined && before.failures === 1);
    lose(world);
    assert.equal(world.grantOf(request)?.placement, 'cpu');
    assert.deepEqual(gpuOutage(world), before);
  });

  test('and nobody uses the model: nothing is loaded when it is back', () => {
    const world = home();
    lose(world);
    standsIn(world);
    world.advance(700_000);
    assert.deepEqual(world.placements(), []);
    comeBack(world);
    world.advance(60_000);
    assert.deepEqual(world.placements(), []);
  });
});

test('an engine that is away takes nothing out of service that is worse than what is used, or elsewhere', () => {
  const split = { ...profile('chat', 'split'), engine: 'tower' };
  const cpu = { ...profile('chat', 'cpu'), engine: 'tower' };
  const local = model('chat', {
    placements: ['gpu', 'split', 'cpu'],
    profiles: { gpu: profile('chat', 'gpu'), split, cpu },
  });
  const world = makeWorld({ policy: policy([local]) });
  lose(world);
  assert.equal(world.grantOf(world.request())?.placement, 'gpu');
  assert.equal(world.loop.state.models.get('chat')?.outages.size, 0);
});

test('a GPU whose file could not be read: the model returns when it can', () => {
  const both = model('chat', {
    profiles: { gpu: profile('chat', 'gpu'), cpu: profile('chat', 'cpu', { file: 'small.gguf' }) },
  });
  const world = makeWorld({ policy: policy([both], { failover }) });
  world.submit({ type: 'need_unknown', hash: 'chat-gpu', problem: UNREADABLE });
  standsIn(world);
  assert.equal(gpuOutage(world)?.reason, 'load_failed');
  assert.equal(gpuOutage(world)?.detail, UNREADABLE.text);
  world.submit({ type: 'need_estimated', hash: 'chat-gpu', need: need(1, 1) });
  world.advance(30_000);
  assert.deepEqual(world.placements(), ['gpu']);
});

describe('while something is away', () => {
  /** Placements that count as out of service. */
  const out = (world: World) => [...(world.loop.state.models.get('chat')?.outages.keys() ?? [])];
  const found = (world: World, ...placements: readonly Placement[]): void => {
    const containers = placements.map((placement) => ({
      container: `container-of-${placement}`,
      engine: 'local',
      model: 'chat',
      placement,
      hash: `chat-${placement}`,
      running: true,
      instance: null,
    }));
    world.submit({ type: 'containers_observed', engine: 'local', containers });
  };
  const split = { ...profile('chat', 'split'), engine: 'tower' };
  const three = model('chat', {
    placements: ['gpu', 'split', 'cpu'],
    profiles: { gpu: profile('chat', 'gpu'), split, cpu: profile('chat', 'cpu') },
  });
  const threeAtHome = () => makeWorld({ policy: policy([three], { failover }) });

  test('only what it hinders is put off: a model was found on its CPU, with the GPU there and the split away', () => {
    const world = threeAtHome();
    found(world, 'cpu');
    lose(world);
    assert.deepEqual(out(world), ['split']);
  });

  test('only what it hinders is put off: the file of another model could not be read', () => {
    const world = threeAtHome();
    found(world, 'cpu');
    world.submit({ type: 'need_unknown', hash: 'another', problem: UNREADABLE });
    assert.deepEqual(out(world), []);
  });

  test('a CPU that only loads counts as used', () => {
    const world = home({ holdStarts: true });
    lose(world);
    world.request();
    assert.deepEqual(out(world), ['gpu']);
  });

  test('a CPU that is about to go does not', () => {
    const world = home({ holdRemovals: true });
    found(world, 'cpu');
    world.submit({ type: 'command', id: 1, command: { do: 'unload', model: 'chat' } });
    lose(world);
    assert.deepEqual(out(world), []);
  });

  test('a GPU whose instance is there, with a warm CPU beside it, is not put off', () => {
    const cpu = profile('chat', 'cpu', { standby: 'warm' });
    const world = makeWorld({ policy: policy([model('chat', { profiles: { gpu, cpu } })], { failover }) });
    comeBack(world);
    world.end(world.request());
    assert.deepEqual(world.placements(), ['gpu', 'cpu']);
    lose(world);
    assert.deepEqual(out(world), []);
  });

  test('a mode that allowed the better one before leaves what runs where it is', () => {
    const local = { ...three, profiles: { ...three.profiles, split: profile('chat', 'split') } };
    const world = makeWorld({ policy: policy([local], { failover }) });
    found(world, 'split');
    world.submit({ type: 'configured', policy: policy([{ ...local, mode: 'gpu' }]), why: 'settings' });
    assert.deepEqual(world.placements(), ['split']);
  });

  test('nothing is put off before there is a configuration', () => {
    const state = emptyState();
    state.engines.set('tower', { observed: false, problem: PROBLEM, lostAt: null });
    const decision = { changes: [], facts: [], effects: [] };
    standIn(decision, state, { mono: 0, wall: 0 });
    replaceStandIns(decision, state, policy([chat]), { mono: 0, wall: 0 });
    assert.deepEqual(decision.changes, []);
  });
});

describe('another mode allows the GPU again', () => {
  const placed = (mode: 'cpu' | 'auto' | 'gpu', more: Partial<Model> = {}) =>
    policy([model('chat', { profiles: { gpu, cpu: profile('chat', 'cpu') }, mode, ...more })], { failover });
  const configure = (world: World, next: Policy) =>
    world.submit({ type: 'configured', policy: next, why: 'settings' });

  function onCpu(more: Partial<Model> = {}): World {
    const world = makeWorld({ policy: placed('cpu', more) });
    comeBack(world);
    standsIn(world);
    return world;
  }

  test('and the model is always loaded: it is loaded there', () => {
    const world = onCpu({ keepLoaded: true });
    configure(world, placed('auto', { keepLoaded: true }));
    assert.deepEqual(world.placements(), ['gpu']);
  });

  test('and nobody needs the model: the next request loads it there', () => {
    const world = onCpu();
    configure(world, placed('auto'));
    assert.deepEqual(world.placements(), []);
    assert.equal(world.facts.findLast(({ type }) => type === 'model_unloading')?.why, 'mode');
    assert.equal(world.grantOf(world.request())?.placement, 'gpu');
  });

  test('and a request is answered on the CPU: it is to its end', () => {
    const world = onCpu();
    const running = world.request();
    configure(world, placed('auto'));
    const next = world.request();
    assert.equal(world.grantOf(running)?.placement, 'cpu');
    assert.equal(world.grantOf(next)?.placement, 'gpu');
    world.end(running);
    assert.deepEqual(world.placements(), ['gpu']);
  });

  test('and the GPU is out of service: the model stays until it is back', () => {
    const world = home();
    comeBack(world);
    world.end(world.request(), RESET);
    configure(world, placed('cpu'));
    standsIn(world);
    configure(world, placed('auto'));
    assert.deepEqual(world.placements(), ['cpu']);
  });

  test('not another mode, but another value: the model stays', () => {
    const world = onCpu();
    configure(world, placed('cpu', { idleUnloadMs: 1 }));
    assert.deepEqual(world.placements(), ['cpu']);
  });
});
