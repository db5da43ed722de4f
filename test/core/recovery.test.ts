/** How a GPU comes back: later and later while it fails, and smaller after it ran out of memory. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { retryWait, STEADY_MS } from '../../app/core/outage.ts';
import { LEAST_CONTEXT, smaller } from '../../app/core/reduction.ts';
import { snapshot } from '../../app/core/snapshot.ts';
import { speedOf, type Timings } from '../../app/core/speed.ts';
import { emptyState } from '../../app/core/state.ts';
import { model, policy, profile } from '../support/model.ts';
import { fc } from '../support/property.ts';
import { DEAD, makeWorld, RESET, type World } from '../support/world.ts';

const MINUTE = 60_000;
const OOM = { ...DEAD, exitCode: 134, log: ['CUDA error: out of memory'] };
const roomy = (parallel: number, context: number) =>
  model('chat', {
    idleUnloadMs: null,
    profiles: { gpu: profile('chat', 'gpu', { parallel, context }), cpu: profile('chat', 'cpu') },
  });
const gpuStarts = (world: World) => world.started.filter((plan) => plan.profile.placement === 'gpu');
const view = ({ loop: { state } }: World) =>
  snapshot(state, { mono: 0, wall: 0 }, { seq: 0, version: '', iso: String });

/** A request on the GPU dies there and is answered by the CPU. */
function failOnGpu(world: World): void {
  const id = world.request();
  assert.equal(world.grantOf(id)?.placement, 'gpu');
  world.end(id, RESET);
  world.end(id);
}

/** Moves time until the GPU was started once more; the time that took. */
function untilGpuStarts(world: World): number {
  const before = gpuStarts(world).length;
  const step = 1_000;
  for (let waited = step; waited <= 20 * MINUTE; waited += step) {
    world.advance(step);
    if (gpuStarts(world).length > before) return waited;
  }
  throw new Error('the GPU was not tried again');
}

describe('the wait for the GPU', () => {
  test('grows with failures in a row up to a cap, and never shrinks', () => {
    fc.assert(
      fc.property(fc.nat(60), fc.integer({ min: 1, max: 3_600_000 }), (failures, first) => {
        const now = retryWait('gpu', failures + 1, first);
        const next = retryWait('gpu', failures + 2, first);
        assert.ok(now >= first && now <= next && next <= Math.max(600_000, first));
        assert.ok(next === now * 2 || next === Math.max(600_000, first));
      }),
    );
  });

  test('goes on growing for one that loads each time and dies at each first request', () => {
    const world = makeWorld({ policy: policy([model('chat', { idleUnloadMs: null })]) });
    const waits: number[] = [];
    for (let n = 0; n < 7; n += 1) {
      failOnGpu(world);
      waits.push(untilGpuStarts(world) / 1_000);
    }
    assert.deepEqual(waits, [30, 60, 120, 240, 480, 600, 600]);
  });

  test('is short again after it served for long', () => {
    const world = makeWorld({ policy: policy([model('chat', { idleUnloadMs: null })]) });
    failOnGpu(world);
    untilGpuStarts(world);
    world.advance(STEADY_MS);
    failOnGpu(world);
    assert.equal(untilGpuStarts(world), 30_000);
  });

  test('keeps to these bounds, whatever fails when', () => {
    const steps = fc.array(fc.tuple(fc.boolean(), fc.integer({ min: 1, max: 900_000 })), { maxLength: 25 });
    fc.assert(
      fc.property(steps, (sequence) => {
        let broken = false;
        const world = makeWorld({
          policy: policy([model('chat', { idleUnloadMs: null })]),
          startFails: ({ profile: { placement } }) => (broken && placement === 'gpu' ? OOM : null),
        });
        for (const [breaks, ms] of sequence) {
          broken = breaks;
          const id = world.request();
          if (world.grantOf(id)?.placement === 'gpu') world.end(id, RESET);
          world.end(id);
          const outage = world.loop.state.models.get('chat')?.outages.get('gpu');
          if (outage !== undefined) {
            const set = retryWait('gpu', outage.failures, 30_000);
            assert.ok(set <= 600_000 && outage.failures >= 1);
          }
          world.advance(ms);
          if (!breaks && ms >= 600_000) assert.ok(world.placements().includes('gpu'), 'it is back');
        }
      }),
      { numRuns: 60 },
    );
  });
});

test('memory that a card still holds after the instance is gone is a problem until the next load works', () => {
  const world = makeWorld({ policy: policy([model('chat')]), holdRemovals: true });
  world.end(world.request());
  const [instance] = world.loop.state.instances.keys();
  world.submit({ type: 'command', id: 1, command: { do: 'unload', model: 'chat' } });
  world.submit({ type: 'instance_removed', instance: instance ?? '', memoryBack: false });
  assert.deepEqual(
    view(world).problems.map(({ code }) => code),
    ['gpu_memory_held'],
  );
  assert.match(world.facts.find((fact) => fact.type === 'model_unloaded')?.detail ?? '', /not seen back/);
  world.end(world.request());
  assert.deepEqual(view(world).problems, []);
});

describe('after the GPU ran out of memory while it answered', () => {
  const oom = (parallel: number, context: number) =>
    makeWorld({ policy: policy([roomy(parallel, context)]), evidence: () => OOM });

  test('it returns with fewer requests at once, then with less context, and no smaller than useful', () => {
    const world = oom(4, 8192);
    const sizes: string[] = [];
    for (let n = 0; n < 6; n += 1) {
      failOnGpu(world);
      untilGpuStarts(world);
      const { parallel, context } = gpuStarts(world).at(-1)?.profile ?? { parallel: 0, context: 0 };
      sizes.push(`${parallel}x${context}`);
    }
    assert.deepEqual(sizes, ['2x8192', '1x8192', '1x4096', '1x2048', '1x2048', '1x2048']);
    assert.equal(new Set(gpuStarts(world).map((plan) => plan.profile.hash)).size, 5);
  });

  test('each step is told as a change of a setting, and shown as a problem with its fix', () => {
    const world = oom(2, 4096);
    failOnGpu(world);
    const told = world.facts.filter((fact) => fact.type === 'setting_changed');
    assert.equal(told.length, 1);
    assert.deepEqual(
      { key: told[0]?.key, from: told[0]?.from, value: told[0]?.value, reason: told[0]?.reason },
      { key: 'models.chat.gpu.parallel', from: 2, value: 1, reason: 'out_of_memory' },
    );
    const { models, problems } = view(world);
    assert.deepEqual(models[0]?.reduced?.configured, { parallel: 2, context: 4096 });
    assert.equal(models[0]?.reduced?.parallel, 1);
    const problem = problems.find(({ code }) => code === 'reduced');
    assert.match(problem?.text ?? '', /1 request\(s\) at once with 4096 tokens/);
    assert.match(problem?.fix ?? '', /Restart chat/);
  });

  test('a restart sets it back, and says so', () => {
    const world = oom(2, 4096);
    failOnGpu(world);
    world.submit({ type: 'command', id: 1, command: { do: 'restart', model: 'chat' } });
    untilGpuStarts(world);
    assert.equal(gpuStarts(world).at(-1)?.profile.parallel, 2);
    const told = world.facts.findLast((fact) => fact.type === 'setting_changed');
    assert.equal(told?.value, 2);
    assert.equal(told?.reason, undefined);
    assert.deepEqual(view(world).problems, []);
    assert.equal(view(world).models[0]?.reduced, null);
  });

  test('a restart of another model leaves it as it is', () => {
    const other = model('other', { profiles: { cpu: profile('other', 'cpu') } });
    const world = makeWorld({ policy: policy([roomy(2, 4096), other]), evidence: () => OOM });
    failOnGpu(world);
    world.submit({ type: 'command', id: 1, command: { do: 'restart', model: 'other' } });
    untilGpuStarts(world);
    assert.equal(gpuStarts(world).at(-1)?.profile.parallel, 1);
    assert.equal(world.facts.filter((fact) => fact.type === 'setting_changed').length, 1);
  });

  test('what was made from another definition, or of a model that is no more, says nothing', () => {
    const definitions = [
      model('chat', {
        profiles: { gpu: profile('chat', 'gpu', { parallel: 3, hash: 'new' }), cpu: profile('chat', 'cpu') },
      }),
      model('other'),
    ];
    for (const definition of definitions) {
      const world = makeWorld({ policy: policy([roomy(2, 4096)]), evidence: () => OOM });
      const id = world.request();
      assert.equal(world.grantOf(id)?.placement, 'gpu');
      world.submit({ type: 'configured', policy: policy([definition]), why: 'reload' });
      world.end(id, RESET);
      assert.equal(world.loop.state.reductions.size, 0);
      assert.equal(world.factTypes().includes('setting_changed'), false);
    }
  });

  test('another configuration is taken as it is, at once', () => {
    const world = oom(2, 4096);
    failOnGpu(world);
    const other = model('chat', {
      profiles: {
        gpu: profile('chat', 'gpu', { parallel: 3, hash: 'other' }),
        cpu: profile('chat', 'cpu'),
      },
    });
    world.submit({ type: 'configured', policy: policy([other]), why: 'reload' });
    assert.equal(gpuStarts(world).at(-1)?.profile.parallel, 3);
  });

  test('a restart of the controller keeps the smaller profile', () => {
    const world = oom(2, 4096);
    failOnGpu(world);
    const reductions = Object.fromEntries(world.loop.state.reductions);
    const state = emptyState({ reductions });
    assert.deepEqual([...state.reductions], [...world.loop.state.reductions]);
  });

  test('it has the speeds of the whole one, until it has its own', () => {
    const world = oom(1, 8192);
    const { state } = world.loop;
    const answer = (timings: Partial<Timings>): void => {
      const request = world.request();
      const none = { promptTokens: null, promptMs: null, tokens: null, tokensMs: null };
      const outcome = { kind: 'completed' } as const;
      world.submit({ type: 'attempt_ended', request, outcome, timings: { ...none, ...timings } });
    };
    answer({ promptTokens: 1000, promptMs: 1000, tokens: 100, tokensMs: 2000 });
    for (const _ of ['half', 'a quarter']) {
      failOnGpu(world);
      untilGpuStarts(world);
    }
    const cut = gpuStarts(world).at(-1)?.profile;
    assert.equal(cut?.context, 2048);
    assert.deepEqual(speedOf(state.speeds, cut), { prompt: 1000, generation: 50 });
    answer({ promptTokens: 1000, promptMs: 2000 });
    assert.deepEqual(speedOf(state.speeds, cut), { prompt: 500, generation: 50 });
  });

  test('the CPU keeps its profile, and so does a GPU that died of something else', () => {
    const world = makeWorld({ policy: policy([roomy(2, 4096)]) });
    failOnGpu(world);
    assert.equal(world.loop.state.reductions.size, 0);
    const cpuOnly = model('chat', { placements: ['cpu'], profiles: { cpu: profile('chat', 'cpu') } });
    const other = makeWorld({ policy: policy([cpuOnly]), evidence: () => OOM });
    other.end(other.request(), RESET);
    assert.equal(other.loop.state.reductions.size, 0);
  });

  test('a drill that filled the memory teaches nothing', () => {
    const world = oom(2, 4096);
    world.submit({ type: 'drill_began', id: 'd1', model: 'chat', scenario: 'oom-runtime' });
    world.submit({ type: 'drill_eased' });
    for (const _ of [1, 2, 3]) {
      failOnGpu(world);
      assert.equal(untilGpuStarts(world), 30_000);
    }
    assert.equal(world.loop.state.reductions.size, 0);
  });

  test('each step is smaller, until there is none', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 64 }),
        fc.integer({ min: 256, max: 1_000_000 }),
        (parallel, context) => {
          let now = { parallel, context };
          for (let steps = 0; ; steps += 1) {
            const next = smaller(now);
            if (next === null) break;
            assert.ok(next.parallel * next.context < now.parallel * now.context);
            assert.ok(next.parallel >= 1 && next.context >= Math.min(context, LEAST_CONTEXT));
            now = next;
            assert.ok(steps < 40);
          }
        },
      ),
    );
  });
});
