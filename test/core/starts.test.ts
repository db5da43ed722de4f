/** One placement is prepared step by step; what is missing for it is begun, and nobody gives way who need not. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { noDecision } from '../../app/core/changes.ts';
import { retryWait } from '../../app/core/outage.ts';
import { type GiveWay, prepare, pursue } from '../../app/core/starts.ts';
import type { Placement } from '../../app/core/types.ts';
import { GIB, host, MIB, model, need, policy, profile } from '../support/model.ts';
import { COMPLETED, makeWorld, RESET, type World, type WorldOptions } from '../support/world.ts';

const chat = model('chat');

function home(more: Partial<WorldOptions> = {}): World {
  return makeWorld({ policy: policy([chat, model('other')]), ...more });
}

/** What a search for this placement of `chat` decides now; nothing of it is folded. */
function prepared(world: World, { placement = 'gpu' as Placement, giveWay = 'anyone' as GiveWay } = {}) {
  const out = noDecision();
  const found = prepare(out, world.loop.state, chat, placement, giveWay, world.now());
  return { kind: found.kind, effects: out.effects.map(({ type }) => type), found };
}

/** The host's memory was read just now. */
function sampled(world = home()): World {
  world.loop.state.host = { memory: host(12 * GIB), at: world.now().mono };
  return world;
}

describe('a placement', () => {
  test('whose instance is there or comes is waited for', () => {
    const world = home({ holdStarts: true });
    world.request();
    assert.deepEqual(prepared(world), { kind: 'coming', effects: [], found: { kind: 'coming' } });
  });

  test('is started where all is there', () => {
    const world = sampled();
    assert.deepEqual([prepared(world).kind, prepared(world).effects], ['coming', ['start_instance']]);
  });

  test('waits for the first observation of its engine', () => {
    const world = home();
    world.loop.state.engines.clear();
    assert.deepEqual([prepared(world).kind, prepared(world).effects], ['coming', []]);
  });

  test('has its need estimated first, once', () => {
    const world = home();
    world.loop.state.needs.delete('chat-gpu');
    assert.deepEqual([prepared(world).kind, prepared(world).effects], ['coming', ['estimate_need']]);
    world.loop.state.needs.set('chat-gpu', { kind: 'pending', problem: null });
    assert.deepEqual([prepared(world).kind, prepared(world).effects], ['coming', []]);
  });

  test('has the memory read anew where the reading is older than a second, or than a change of it', () => {
    const world = home();
    assert.ok(world.loop.state.host === null);
    const read = (at: number, movedAt: number) => {
      world.loop.state.host = { memory: host(12 * GIB), at };
      world.loop.state.memoryMovedAt = movedAt;
      return prepared(world).effects;
    };
    world.advance(10_000);
    const { mono } = world.now();
    assert.deepEqual(read(mono - 1_000, 0), ['start_instance']);
    assert.deepEqual(read(mono - 1_001, 0), ['sample_host']);
    assert.deepEqual(read(mono - 10, mono - 10), ['start_instance']);
    assert.deepEqual(read(mono - 10, mono - 9), ['sample_host']);
    world.loop.state.sampling = true;
    assert.deepEqual([prepared(world).kind, prepared(world).effects], ['coming', []]);
  });

  test('that the model has no profile for is named', () => {
    const world = home();
    const { found } = prepared(world, { placement: 'split' });
    assert.equal(found.kind, 'impossible');
    const problem = found.kind === 'impossible' ? found.problem : null;
    assert.deepEqual([problem?.code, problem?.model], ['no_placement', 'chat']);
    assert.match(problem?.text ?? '', /^chat cannot run on split /);
    assert.notEqual(problem?.fix, '');
  });

  test('is searched for in order, and the first that comes ends the search', () => {
    const world = sampled();
    const out = noDecision();
    const pursuit = pursue(out, world.loop.state, chat, ['cpu', 'gpu'], world.now());
    assert.deepEqual(pursuit, { kind: 'coming' });
    assert.deepEqual(
      out.effects.map((effect) => effect.type === 'start_instance' && effect.plan.profile.placement),
      ['cpu'],
    );
  });
});

describe('an idle instance of another model', () => {
  /** `other` is idle on the CPU, and its memory is what `chat` lacks there. */
  function full(): World {
    const other = model('other', { mode: 'cpu' });
    const world = makeWorld({
      policy: policy([chat, other]),
      memory: host(12 * GIB),
      needOf: ({ gpu }) => (gpu === null ? need(5 * GIB) : need(GIB, GIB)),
    });
    world.end(world.request({ model: 'other' }));
    world.setMemory(host(5 * GIB));
    world.loop.state.host = { memory: host(5 * GIB), at: world.now().mono };
    return world;
  }
  const onCpu = (giveWay: GiveWay) => prepared(full(), { placement: 'cpu', giveWay });

  test('gives way to what somebody waits for', () => {
    assert.deepEqual([onCpu('anyone').kind, onCpu('anyone').effects], ['coming', ['remove_instance']]);
  });

  test('stays for a standby, and for a probe of another model', () => {
    for (const giveWay of ['nobody', { only: 'chat' }] as const)
      assert.deepEqual([onCpu(giveWay).kind, onCpu(giveWay).effects], ['short', []]);
  });
});

test('an instance starts with the prompt cache that its need counts', () => {
  const parts = [
    { device: 'host', what: 'weights', bytes: GIB, source: 'gguf' },
    { device: 'host', what: 'prompt_cache', bytes: 256 * MIB, source: 'gguf' },
  ] as const;
  const world = home({ needOf: () => ({ ...need(2 * GIB), parts }) });
  world.request();
  assert.equal(world.started[0]?.promptCache, 256 * MIB);
  const without = home();
  without.request();
  assert.equal(without.started[0]?.promptCache, 0);
});

test('a GPU that does not fit while the CPU does is told once, not at each try', () => {
  const world = home({ needOf: ({ gpu }) => (gpu === null ? need(GIB) : need(GIB, 100 * GIB)) });
  for (const _ of [1, 2, 3]) {
    const id = world.request();
    assert.equal(world.grantOf(id)?.placement, 'cpu');
    world.end(id);
    world.submit({ type: 'command', id, command: { do: 'unload', model: 'chat' } });
    world.advance(600_000);
  }
  assert.equal(world.factTypes().filter((type) => type === 'load_refused').length, 1);
  assert.equal(world.loop.state.models.get('chat')?.outages.get('gpu')?.failures, 3);
});

test('the wait for the next try doubles up to a minute on the CPU, to ten or the configured time on the GPU', () => {
  const waits = (placement: Placement, first: number) =>
    [1, 2, 3, 6, 7, 40].map((failures) => retryWait(placement, failures, first));
  assert.deepEqual(waits('cpu', 30_000), [2_000, 4_000, 8_000, 60_000, 60_000, 60_000]);
  assert.deepEqual(waits('gpu', 30_000), [30_000, 60_000, 120_000, 600_000, 600_000, 600_000]);
  assert.deepEqual(waits('gpu', 900_000), Array(6).fill(900_000));
});

describe('a grant', () => {
  test('tells how long the request waited, and asks for a fresh connection only after a stale one', () => {
    const world = home({ holdStarts: true });
    world.advance(5_000);
    const id = world.request();
    world.advance(1_500);
    world.finishStart();
    assert.deepEqual([world.grantOf(id)?.queuedMs, world.grantOf(id)?.freshConnection], [1_500, false]);
  });

  test('is of the CPU where the GPU is full and that is up anyway', () => {
    const world = home();
    const first = world.request();
    world.end(first, RESET);
    world.advance(30_000);
    const placements = [1, 2, 3].map(() => world.grantOf(world.request())?.placement);
    assert.deepEqual(placements, ['gpu', 'gpu', 'cpu']);
    world.end(first, COMPLETED);
  });

  test('is of a warm standby where the prompt fits nowhere else', () => {
    const profiles = {
      gpu: profile('chat', 'gpu', { context: 2048 }),
      cpu: profile('chat', 'cpu', { context: 8192, standby: 'warm' }),
    };
    const world = makeWorld({ policy: policy([model('chat', { profiles })]), tokensOf: () => 3_000 });
    const busy = [world.request(), world.request()];
    assert.deepEqual(world.placements().sort(), ['cpu', 'gpu']);
    assert.equal(world.grantOf(world.request({ promptBytes: 12_000 }))?.placement, 'cpu');
    assert.deepEqual(
      busy.map((id) => world.grantOf(id)?.placement),
      ['gpu', 'gpu'],
    );
  });
});

describe('a load whose log shows where it runs', () => {
  const loaded = (planned: Placement, measured: Placement | null) => {
    const world = makeWorld({
      policy: policy([model('chat', { placements: [planned] })]),
      holdStarts: true,
    });
    const request = world.request();
    const instance = world.started[0]?.instance ?? '';
    const where = { placement: measured, ram: null, vram: null };
    world.submit({ type: 'instance_ready', instance, container: 'c', measured: where });
    assert.equal(world.grantOf(request)?.placement, planned);
    return world.facts.filter(({ type }) => type === 'cpu_fallback_detected');
  };

  test('is told where the GPU was meant and the CPU is used', () => {
    const [told, ...others] = loaded('gpu', 'cpu');
    assert.deepEqual([told?.model, told?.placement, told?.engine], ['chat', 'gpu', 'local']);
    assert.deepEqual(others, []);
  });

  test('is no event where it runs as planned, in part on the GPU, or nothing tells it', () => {
    for (const measured of ['gpu', 'split', null] as const) assert.deepEqual(loaded('gpu', measured), []);
    assert.deepEqual(loaded('cpu', 'cpu'), []);
  });
});
