/** The view that the page, MQTT and the admin API read: what a person is told of a home's models. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { joinedName } from '../../app/core/gpu-names.ts';
import { snapshot } from '../../app/core/snapshot.ts';
import { emptyState } from '../../app/core/state.ts';
import type { Gpu, HostMemory, Model, Need, Profile } from '../../app/core/types.ts';
import { GIB, GPU, host, MIB, model, need, policy, profile } from '../support/model.ts';
import { DEAD, makeWorld, RESET, type World, type WorldOptions } from '../support/world.ts';

/** Wall times as seconds since the test's clock began. */
const START = Date.UTC(2026, 0, 1);
const iso = (wall: number) => `${(wall - START) / 1000} s`;
const viewOf = (world: World) => snapshot(world.loop.state, world.now(), { seq: 7, version: '1.2.3', iso });
const chatOf = (world: World) => viewOf(world).models[0];

const chat = model('chat');
const home = (more: Partial<WorldOptions> = {}, own: Model = chat) =>
  makeWorld({ policy: policy([own]), ...more });

const dies = { startFails: () => ({ ...DEAD, error: 'it died' }) };
const gpuDies = {
  startFails: ({ profile: { placement } }: { readonly profile: Profile }) =>
    placement === 'gpu' ? DEAD : null,
};
const unload = (world: World) =>
  world.submit({ type: 'command', id: 1, command: { do: 'unload', model: 'chat' } });

describe('the one word for a model, and where it runs', () => {
  const NOTHING = (): void => undefined;
  for (const [what, options, does, status, placement] of [
    ['nothing happened yet', {}, NOTHING, 'stopped', 'none'],
    ['it loads', { holdStarts: true }, (world) => world.request(), 'starting', 'none'],
    ['it answers', {}, (world) => world.request(), 'busy', 'gpu'],
    ['it has answered', {}, (world) => world.end(world.request()), 'ready', 'gpu'],
    [
      'it answers one that came before its unload',
      {},
      (world) => {
        world.request();
        unload(world);
      },
      'draining',
      'gpu',
    ],
    [
      'it is unloaded',
      { holdRemovals: true },
      (world) => {
        world.end(world.request());
        unload(world);
      },
      'draining',
      'none',
    ],
    [
      'it is gone',
      {},
      (world) => {
        world.end(world.request());
        unload(world);
      },
      'stopped',
      'none',
    ],
    [
      'its container does not go',
      { holdRemovals: true },
      (world) => {
        world.end(world.request());
        unload(world);
        world.finishRemoval('stuck');
      },
      'stopped',
      'none',
    ],
    ['its GPU is out of service', gpuDies, (world) => world.end(world.request()), 'degraded', 'cpu'],
    ['its GPU is out of service and it answers', gpuDies, (world) => world.request(), 'degraded', 'cpu'],
    ['nothing of it can be started', dies, (world) => world.request(), 'failed', 'none'],
  ] as const satisfies readonly (readonly [
    string,
    Partial<WorldOptions>,
    (world: World) => unknown,
    string,
    string,
  ])[]) {
    test(`${what}: ${status}, ${placement}`, () => {
      const world = home(options);
      does(world);
      const shown = chatOf(world);
      assert.deepEqual([shown?.status, shown?.placement], [status, placement]);
    });
  }

  test('an outage of a placement that its mode leaves out says nothing', () => {
    const world = home(gpuDies);
    world.end(world.request());
    const onCpu = policy([{ ...chat, mode: 'cpu' }]);
    world.submit({ type: 'configured', policy: onCpu, why: 'reload' });
    assert.deepEqual([chatOf(world)?.status, chatOf(world)?.outage], ['ready', null]);
  });

  test('where two are ready it is the one that is preferred, whichever came first', () => {
    const warm = model('chat', {
      profiles: { gpu: profile('chat', 'gpu'), cpu: profile('chat', 'cpu', { standby: 'warm' }) },
    });
    const first = home({}, warm);
    first.end(first.request());
    const { holdsOnce, options } = failsOnce();
    const second = home(options, warm);
    holdsOnce();
    second.end(second.request());
    second.advance(30_000);
    for (const [world, order] of [
      [first, ['gpu', 'cpu']],
      [second, ['cpu', 'gpu']],
    ] as const) {
      assert.deepEqual(world.placements(), order);
      const shown = viewOf(world);
      assert.deepEqual(
        shown.instances.map(({ state }) => state),
        ['ready', 'ready'],
      );
      assert.equal(shown.models[0]?.placement, 'gpu');
      assert.ok(shown.models[0]?.unloadAt !== null, 'it goes with the one that is used');
      world.request();
      assert.equal(chatOf(world)?.status, 'busy', 'the other one rests');
    }
  });
});

/** The GPU's first start fails. */
function failsOnce() {
  let fails = false;
  const startFails = ({ profile: { placement } }: { readonly profile: Profile }) => {
    if (placement !== 'gpu' || !fails) return null;
    fails = false;
    return DEAD;
  };
  const holdsOnce = (): void => {
    fails = true;
  };
  return { holdsOnce, options: { startFails } };
}

test('before there is a configuration nothing is shown, and nothing is missing', () => {
  assert.deepEqual(snapshot(emptyState(), { mono: 0, wall: START }, { seq: 0, version: '1', iso }), {
    seq: 0,
    time: '0 s',
    version: '1',
    home: '',
    models: [],
    instances: [],
    requests: [],
    leases: 0,
    queue: 0,
    memory: null,
    gpus: [],
    drill: null,
    problems: [],
    counters: { requests: 0, failed: 0, failovers: 0 },
    lastDrill: null,
    lastFailover: null,
  });
});

describe('a model', () => {
  const own = model('chat', {
    displayName: 'Chat 7B',
    aliases: ['gpt-4o-mini'],
    profiles: {
      gpu: profile('chat', 'gpu', { context: 8192, file: 'big.gguf' }),
      cpu: profile('chat', 'cpu', { parallel: 1, file: 'small.gguf' }),
    },
  });
  const COLD = {
    kind: 'cold',
    state: 'off',
    bytes: null,
    readSeconds: null,
    starts: { cold: null, cached: null },
    need: null,
    room: null,
  };

  test('that nobody used yet is shown as it would be loaded', () => {
    assert.deepEqual(chatOf(home({}, own)), {
      name: 'chat',
      displayName: 'Chat 7B',
      aliases: ['gpt-4o-mini'],
      task: 'chat',
      mode: 'auto',
      status: 'stopped',
      placement: 'none',
      placements: ['gpu', 'cpu'],
      keepLoaded: false,
      idleUnload: 600,
      unloadAt: null,
      context: 8192,
      parallel: 2,
      file: 'big.gguf',
      outage: null,
      reduced: null,
      lastError: null,
      need: need(GIB, GIB),
      loadSeconds: {},
      tokensPerSecond: {},
      answerTokens: null,
      lastUsed: null,
      standby: COLD,
    });
  });

  test('whose file could not be read has no need to show', () => {
    const world = home({}, own);
    const problem = { code: 'model_unreadable', text: 'It is torn.', fix: 'Copy it again.' } as const;
    world.submit({ type: 'need_unknown', hash: 'chat-gpu', problem });
    assert.equal(chatOf(world)?.need, null);
  });

  test('that was used is shown as it runs: its need, when it was used, when it will go', () => {
    const world = home({ holdStarts: true }, own);
    world.advance(1_000);
    const request = world.request();
    world.advance(4_000);
    world.finishStart();
    world.advance(2_000);
    assert.equal(chatOf(world)?.unloadAt, null, 'it is in use');
    world.end(request);
    world.advance(500);
    const { need: needed, lastUsed, loadSeconds, unloadAt } = chatOf(world) ?? {};
    assert.deepEqual(needed, need(GIB, GIB));
    assert.deepEqual([lastUsed, loadSeconds, unloadAt], ['6 s', { gpu: 4 }, '608 s']);
  });

  test('that runs on the CPU is shown with the CPU’s file, context and slots', () => {
    const world = home(gpuDies, own);
    world.end(world.request());
    const { context, parallel, file, need: needed } = chatOf(world) ?? {};
    assert.deepEqual([context, parallel, file], [2048, 1, 'small.gguf']);
    assert.deepEqual(needed, need(GIB));
  });

  test('whose mode leaves the GPU out is shown as it would be loaded on the CPU', () => {
    assert.equal(chatOf(home({}, { ...own, mode: 'cpu' }))?.file, 'small.gguf');
  });

  test('that is off is shown as it would be loaded if it were on', () => {
    const { file, context } = chatOf(home({}, { ...own, mode: 'off' })) ?? {};
    assert.deepEqual([file, context], ['big.gguf', 8192]);
  });

  test('without a placement that could be built has no file to show', () => {
    const { context, parallel, file, need: needed } = chatOf(home({}, { ...own, profiles: {} })) ?? {};
    assert.deepEqual([context, parallel, file, needed], [0, 0, '', null]);
  });

  for (const [what, more, idleUnload, unloadAt] of [
    ['with a time of its own', { idleUnloadMs: 90_000 }, 90, '91 s'],
    ['that never goes', { idleUnloadMs: null }, null, null],
    ['that is kept', { keepLoaded: true }, 600, null],
  ] as const) {
    test(`${what} is told to go in ${idleUnload} s, ${unloadAt}`, () => {
      const world = home({}, { ...own, ...more });
      world.end(world.request());
      const shown = chatOf(world);
      assert.deepEqual([shown?.idleUnload, shown?.unloadAt], [idleUnload, unloadAt]);
    });
  }

  test('that could not be started anywhere says why', () => {
    const world = home(dies, own);
    world.request();
    assert.match(chatOf(world)?.lastError ?? '', /it died/);
  });

  test('whose GPU is out of service says which, why, since when, and when it is tried again', () => {
    const world = home({ ...gpuDies }, own);
    world.advance(5_000);
    world.end(world.request());
    world.advance(1_000);
    assert.deepEqual(chatOf(world)?.outage, {
      placement: 'gpu',
      reason: 'start_failed',
      detail: null,
      since: '6 s',
      retryAt: '36 s',
      probing: false,
    });
  });

  test('says while its GPU is being probed', () => {
    const { holdsOnce, options } = failsOnce();
    const world = home({ ...options, holdStarts: true }, own);
    holdsOnce();
    const request = world.request();
    world.finishStart();
    assert.equal(chatOf(world)?.status, 'starting');
    assert.equal(chatOf(world)?.outage?.probing, false, 'the CPU loads');
    world.finishStart();
    world.end(request);
    assert.equal(chatOf(world)?.outage?.probing, false, 'the CPU serves');
    world.advance(30_000);
    assert.deepEqual(world.placements(), ['cpu', 'gpu']);
    assert.equal(chatOf(world)?.outage?.probing, true);
    world.finishStart();
    assert.equal(chatOf(world)?.outage, null);
  });

  test('shows the placement in use as out of service before one that is no better', () => {
    const world = home(dies, own);
    world.request();
    assert.equal(chatOf(world)?.outage?.placement, 'gpu');
  });
});

describe('what runs and waits', () => {
  test('a request waits for a load also while what failed it is still to go', () => {
    const world = home({ holdStarts: true, holdRemovals: true });
    const request = world.request();
    world.finishStart();
    world.end(request, RESET);
    const { models, instances, requests } = viewOf(world);
    assert.deepEqual(
      instances.map(({ placement, state }) => [placement, state]),
      [
        ['gpu', 'failed'],
        ['cpu', 'starting'],
      ],
    );
    assert.equal(requests[0]?.phase, 'loading');
    assert.equal(models[0]?.outage?.probing, false);
  });

  test('instances, requests with their places, and how many of each', () => {
    const world = home({ holdStarts: true });
    const first = world.request();
    world.advance(2_000);
    assert.deepEqual(
      viewOf(world).requests.map(({ phase, placement, position }) => [phase, placement, position]),
      [['loading', null, 1]],
    );
    assert.deepEqual(viewOf(world).instances, [
      {
        model: 'chat',
        placement: 'gpu',
        engine: 'local',
        state: 'starting',
        container: null,
        since: '1 s',
        measured: null,
        leases: 0,
        slots: 2,
        memory: GIB,
      },
    ]);
    world.finishStart();
    world.request();
    world.advance(1_000);
    world.request({ client: 'another' });
    world.request({ client: 'a third' });
    const { instances, requests, leases, queue } = viewOf(world);
    assert.deepEqual(instances, [
      {
        model: 'chat',
        placement: 'gpu',
        engine: 'local',
        state: 'ready',
        container: 'c-i1',
        since: '3 s',
        measured: { placement: 'gpu', ram: null, vram: null },
        leases: 2,
        slots: 2,
        memory: GIB,
      },
    ]);
    const about = { model: 'chat', path: '/v1/chat/completions' };
    const running = { ...about, phase: 'running', placement: 'gpu', attempts: 1, position: null };
    const queued = { ...about, phase: 'queued', placement: null, attempts: 0 };
    assert.deepEqual(requests, [
      { id: 'x1', ...running, since: '1 s' },
      { id: 'x2', ...running, since: '3 s' },
      { id: 'x3', ...queued, since: '4 s', position: 1 },
      { id: 'x4', ...queued, since: '4 s', position: 2 },
    ]);
    assert.deepEqual([leases, queue], [2, 2]);
    world.end(first);
    assert.deepEqual(
      viewOf(world).requests.map(({ id, phase }) => [id, phase]),
      [
        ['x2', 'running'],
        ['x3', 'running'],
        ['x4', 'queued'],
      ],
    );
  });

  test('each model has a line of its own', () => {
    const world = makeWorld({ policy: policy([chat, model('other')]), holdStarts: true });
    for (const name of ['chat', 'other', 'chat']) world.request({ model: name });
    assert.deepEqual(
      viewOf(world).requests.map(({ model: of, position }) => [of, position]),
      [
        ['chat', 1],
        ['other', 1],
        ['chat', 2],
      ],
    );
  });

  test('of a container’s id the twelve digits that Docker shows', () => {
    const world = home({ holdStarts: true });
    world.request();
    world.submit({
      type: 'instance_ready',
      instance: 'i1',
      container: '0123456789abcdef0123456789abcdef',
      measured: { placement: 'gpu', ram: 5, vram: 6 },
    });
    const [only] = viewOf(world).instances;
    assert.deepEqual(
      [only?.container, only?.measured],
      ['0123456789ab', { placement: 'gpu', ram: 5, vram: 6 }],
    );
  });

  test('one whose end waits for what a death says holds no slot and does not wait', () => {
    const world = home();
    const request = world.request();
    world.loop.state.judged.add(request);
    assert.deepEqual([viewOf(world).leases, viewOf(world).queue], [0, 0]);
  });
});

describe('memory', () => {
  const SHARED: Gpu = { ...GPU, memory: 'shared', total: null };

  test('of the machine and of all instances in it', () => {
    const small = { needOf: (own: Profile) => need(GIB, own.gpu === null ? 0 : 2 * GIB) };
    const world = makeWorld({ policy: policy([chat, model('other')]), ...small });
    assert.equal(viewOf(world).memory?.models ?? 0, 0);
    world.request();
    world.request({ model: 'other' });
    world.setMemory({ ...host(9 * GIB), services: 3 * GIB });
    world.submit({ type: 'host_sampled', host: { ...host(9 * GIB), services: 3 * GIB } });
    assert.deepEqual(viewOf(world).memory, {
      total: 16 * GIB,
      available: 9 * GIB,
      reserve: 2 * GIB,
      budget: 14 * GIB,
      models: 2 * GIB,
      services: 3 * GIB,
    });
  });

  test('that a GPU shares with the machine counts as the machine’s', () => {
    const gpu = profile('chat', 'gpu', { gpu: SHARED });
    const own = model('chat', { profiles: { gpu } });
    const world = makeWorld({ policy: policy([own], { gpus: [SHARED] }) });
    world.request();
    const { instances, gpus, memory } = viewOf(world);
    assert.deepEqual([instances[0]?.memory, memory?.models, gpus[0]?.models], [2 * GIB, 2 * GIB, GIB]);
  });

  test('is not shown before it was read', () => {
    const state = { ...emptyState(), policy: policy([chat]) };
    const now = { mono: 0, wall: START };
    assert.equal(snapshot(state, now, { seq: 0, version: '', iso }).memory, null);
  });

  const vram = (bytes: Record<string, number>): Need => ({ ...need(GIB), vram: bytes });
  const FIRST: Gpu = { ...GPU, kind: 'nvidia', name: 'RTX 3060', devices: ['CUDA0'] };
  const SECOND: Gpu = { ...GPU, kind: 'nvidia', name: 'Tesla T4', devices: ['CUDA1'] };
  const BOTH: Gpu = { ...FIRST, name: joinedName('RTX 3060', 'Tesla T4'), devices: ['CUDA0', 'CUDA1'] };
  const TWIN: Gpu = { ...SECOND, name: 'RTX 3060' };
  const PARTS: Gpu = { ...BOTH, name: joinedName('RTX 3060', 'RTX 3060') };
  assert.equal(PARTS.name, 'RTX 3060');
  for (const [what, gpus, used, takes, expected] of [
    ['the one of two GPUs that the model uses', [FIRST, SECOND], SECOND, { CUDA1: 3 }, [0, 3]],
    ['both of two GPUs that the model uses as one', [FIRST, SECOND], BOTH, { CUDA0: 3, CUDA1: 4 }, [3, 4]],
    ['one of two GPUs of one name', [FIRST, TWIN], TWIN, { CUDA1: 3 }, [0, 3]],
    ['both of two GPUs of one name', [FIRST, TWIN], PARTS, { CUDA0: 3, CUDA1: 4 }, [3, 4]],
    [
      'one of two GPUs that are each the first one to their containers',
      [FIRST, { ...SECOND, devices: ['CUDA0'] }],
      { ...SECOND, devices: ['CUDA0'] },
      { CUDA0: 3 },
      [0, 3],
    ],
    ['a GPU of several devices, all of them', [BOTH], BOTH, { CUDA0: 3, CUDA1: 4 }, [7]],
    [
      'a GPU of several devices of which the model uses one',
      [BOTH],
      { ...BOTH, devices: ['CUDA1'] },
      { CUDA1: 4 },
      [4],
    ],
    ['not the GPU of another engine', [FIRST, { ...FIRST, engine: 'tower' }], FIRST, { CUDA0: 3 }, [3, 0]],
  ] as const) {
    test(`of a GPU: ${what}`, () => {
      const own = model('chat', { profiles: { gpu: profile('chat', 'gpu', { gpu: used }) } });
      const world = makeWorld({ policy: policy([own], { gpus }), needOf: () => vram(takes) });
      world.request();
      assert.deepEqual(
        viewOf(world).gpus.map(({ models }) => models),
        expected,
      );
    });
  }

  test('a GPU is shown with its size and what is left alone of it', () => {
    assert.deepEqual(viewOf(home()).gpus, [
      {
        name: 'card',
        kind: 'vulkan',
        memory: 'dedicated',
        total: 8 * GIB,
        used: null,
        models: 0,
        headroom: 512 * MIB,
      },
    ]);
  });

  const read = (cards: HostMemory['cards']): HostMemory => ({ ...host(12 * GIB), cards });
  const cardA: Gpu = { ...FIRST, total: null, cards: { CUDA0: '0000:01:00.0' } };
  const both: Gpu = { ...BOTH, cards: { CUDA0: '0000:01:00.0', CUDA1: '0000:02:00.0' } };
  const told = { '0000:01:00.0': { total: 8 * GIB, used: 3 * GIB } };
  const second = { '0000:02:00.0': { total: 12 * GIB, used: GIB } };
  for (const [what, gpu, cards, expected] of [
    ['as its driver tells, its size too where it is not known', cardA, told, [8 * GIB, 3 * GIB]],
    ['the size that is known, where it is', { ...cardA, total: 7 * GIB }, told, [7 * GIB, 3 * GIB]],
    ['of both cards of one', { ...both, total: null }, { ...told, ...second }, [20 * GIB, 4 * GIB]],
    ['not of two of which one tells', both, told, [8 * GIB, null]],
    ['not of another card', cardA, second, [null, null]],
    ['not of one that shares the machine’s', { ...cardA, memory: 'shared' }, told, [null, null]],
  ] as const) {
    test(`what a GPU uses is shown ${what}`, () => {
      const world = makeWorld({ policy: policy([chat], { gpus: [gpu] }) });
      world.submit({ type: 'host_sampled', host: read(cards) });
      assert.deepEqual(
        viewOf(world).gpus.map(({ total, used }) => [total, used]),
        [expected],
      );
    });
  }
});

test('a drill is shown while it runs, and as the last one afterwards', () => {
  const world = home();
  world.advance(1_000);
  world.submit({ type: 'drill_began', id: 'd', scenario: 'kill', model: 'chat' });
  world.advance(1_000);
  assert.deepEqual(viewOf(world).drill, { scenario: 'kill', model: 'chat', since: '2 s' });
  assert.equal(viewOf(world).lastDrill, null);
  world.submit({ type: 'drill_ended', verdict: 'passed', why: 'All went well.' });
  assert.equal(viewOf(world).drill, null);
  assert.deepEqual(viewOf(world).lastDrill, {
    time: '3 s',
    model: 'chat',
    scenario: 'kill',
    verdict: 'passed',
  });
});

test('failovers and problems are shown, and who asks is told the newest of it', () => {
  const world = home();
  const request = world.request();
  world.advance(1_000);
  world.end(request, RESET);
  world.submit({
    type: 'problem_seen',
    problem: { code: 'docker_not_running', text: 'Docker does not run.', fix: 'Start it.' },
  });
  const { seq, time, version, home: name, counters, lastFailover, problems } = viewOf(world);
  assert.deepEqual([seq, time, version, name], [7, '2 s', '1.2.3', 'home']);
  assert.deepEqual(counters, { requests: 1, failed: 0, failovers: 1 });
  assert.deepEqual(lastFailover, { time: '2 s', model: 'chat', reason: 'exit' });
  assert.deepEqual(problems, [
    { code: 'docker_not_running', text: 'Docker does not run.', fix: 'Start it.' },
  ]);
});
