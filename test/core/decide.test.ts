import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ObservedContainer } from '../../app/core/inputs.ts';
import type { ExitEvidence } from '../../app/core/types.ts';
import { GIB, GPU, host, MIB, model, need, policy, profile } from '../support/model.ts';
import { DEAD, makeWorld, RESET, type World } from '../support/world.ts';

const chat = policy([model('chat')]);
const OOM = { ...DEAD, exitCode: 1, log: ['ErrorOutOfDeviceMemory', 'exiting due to model loading error'] };

describe('a request', () => {
  test('loads its model on the GPU and is granted', () => {
    const world = makeWorld({ policy: chat });
    const id = world.request();
    assert.equal(world.grantOf(id)?.placement, 'gpu');
    assert.equal(world.grantOf(id)?.attempt, 1);
    assert.deepEqual(world.factTypes(), ['model_loading', 'model_loaded']);
  });

  test('joins a load that is under way', () => {
    const world = makeWorld({ policy: chat, holdStarts: true });
    const ids = [world.request(), world.request()];
    assert.equal(world.started.length, 1);
    world.finishStart();
    assert.deepEqual(
      ids.map((id) => world.grantOf(id)?.placement),
      ['gpu', 'gpu'],
    );
  });

  test('waits for a slot and gets the next one, in order', () => {
    const world = makeWorld({ policy: chat });
    const [a, b, c, d] = [world.request(), world.request(), world.request(), world.request()];
    assert.equal(world.grantOf(c), undefined);
    world.end(a);
    assert.equal(world.grantOf(c)?.placement, 'gpu');
    world.end(b);
    assert.equal(world.grantOf(d)?.placement, 'gpu');
  });

  test('of an unknown model is refused by name', () => {
    const world = makeWorld({ policy: chat });
    assert.equal(world.refusalOf(world.request({ model: 'nope' }))?.code, 'unknown_model');
  });

  test('beyond the bound of the queue is refused at once', () => {
    const world = makeWorld({ policy: policy([model('chat')], { queue: { depth: 1, deadlineMs: 60_000 } }) });
    world.request();
    world.request();
    world.request();
    assert.equal(world.refusalOf(world.request())?.code, 'queue_full');
  });

  test('ends at its deadline', () => {
    const world = makeWorld({ policy: chat, holdStarts: true });
    const id = world.request({ deadlineMs: 5_000 });
    world.advance(4_999);
    assert.equal(world.refusalOf(id), undefined);
    world.advance(1);
    assert.equal(world.refusalOf(id)?.code, 'deadline');
  });

  test('that runs and has no content by its deadline ends with one event, and blames nobody', () => {
    const world = makeWorld({ policy: chat });
    const id = world.request({ deadlineMs: 5_000 });
    world.advance(5_000);
    world.end(id, { kind: 'deadline' });
    assert.equal(world.refusalOf(id)?.code, 'deadline');
    assert.deepEqual(world.factTypes(), ['model_loading', 'model_loaded', 'request_failed']);
    assert.equal(world.facts.at(-1)?.code, 'deadline');
    assert.equal(world.facts.at(-1)?.requestId, 'x1');
    assert.equal(world.loop.state.counters.failed, 1);
    assert.equal(world.loop.state.requests.size, 0);
    assert.deepEqual(world.placements(), ['gpu']);
    assert.equal(world.grantOf(world.request())?.placement, 'gpu');
  });

  test('whose client goes while it waits leaves the queue', () => {
    const world = makeWorld({ policy: chat, holdStarts: true });
    const id = world.request();
    world.submit({ type: 'request_abandoned', request: id });
    world.finishStart();
    assert.equal(world.loop.state.waiting.length, 0);
    assert.equal(world.loop.state.requests.size, 0);
  });
});

describe('a failure', () => {
  test('of the GPU moves the request to the CPU under its id, and is told once', () => {
    const world = makeWorld({ policy: chat });
    const id = world.request();
    world.end(id, RESET);
    const grant = world.grantOf(id);
    assert.equal(grant?.placement, 'cpu');
    assert.equal(grant?.attempt, 2);
    assert.equal(grant?.reason, 'reset');
    const failovers = world.facts.filter((fact) => fact.type === 'failover');
    assert.equal(failovers.length, 1);
    assert.equal(failovers[0]?.to, 'cpu');
    assert.deepEqual(failovers[0]?.requestIds, [`x${id}`]);
  });

  test('of the second placement is an explicit error', () => {
    const world = makeWorld({ policy: chat });
    const id = world.request();
    world.end(id, RESET);
    world.end(id, RESET);
    assert.equal(world.refusalOf(id)?.code, 'poison');
  });

  test('while others run on the same instance moves them all in one failover', () => {
    const world = makeWorld({ policy: chat });
    const [a, b] = [world.request(), world.request()];
    world.end(a, RESET);
    assert.equal(world.factTypes().includes('failover'), false);
    world.end(b, RESET);
    const failovers = world.facts.filter((fact) => fact.type === 'failover');
    assert.deepEqual(failovers[0]?.requestIds, [`x${a}`, `x${b}`]);
  });

  test('that moves a crowd is one event with the ids of sixteen, and the count of all', () => {
    const profiles = { gpu: profile('chat', 'gpu', { parallel: 20 }), cpu: profile('chat', 'cpu') };
    const queue = { depth: 32, deadlineMs: 300_000 };
    const world = makeWorld({ policy: policy([model('chat', { profiles })], { queue }) });
    const ids = Array.from({ length: 20 }, () => world.request());
    for (const id of ids) world.end(id, RESET);
    const [failover, ...more] = world.facts.filter((fact) => fact.type === 'failover');
    assert.deepEqual(more, []);
    assert.equal(failover?.count, 20);
    assert.deepEqual(
      failover?.requestIds,
      ids.slice(0, 16).map((id) => `x${id}`),
    );
  });

  test('is named by the evidence of the container', () => {
    const world = makeWorld({ policy: chat, evidence: () => ({ ...DEAD, oomKilled: true }) });
    world.end(world.request(), RESET);
    assert.equal(world.facts.find((fact) => fact.type === 'failover')?.reason, 'memory_limit');
    assert.ok(world.factTypes().includes('out_of_memory'));
  });

  test('at the load of the GPU starts the CPU, and the request never ran twice', () => {
    const world = makeWorld({
      policy: chat,
      startFails: ({ profile: { placement } }) => (placement === 'gpu' ? OOM : null),
    });
    const id = world.request();
    assert.equal(world.grantOf(id)?.placement, 'cpu');
    assert.equal(world.grantOf(id)?.attempt, 1);
    assert.deepEqual(world.factTypes(), [
      'model_loading',
      'load_failed',
      'failover',
      'model_loading',
      'model_loaded',
    ]);
  });

  test('at every load is an error that names the cause', () => {
    const world = makeWorld({ policy: chat, startFails: () => ({ ...DEAD, log: ['failed to load model'] }) });
    const refusal = world.refusalOf(world.request());
    assert.equal(refusal?.code, 'backend_failed');
    assert.match(refusal?.message ?? '', /failed to load model/);
  });

  test('of a stale connection goes again on the same instance and counts as none', () => {
    const world = makeWorld({ policy: chat });
    const id = world.request();
    world.end(id, { kind: 'failed', failure: { kind: 'reset', reused: true }, forwarded: 'nothing' });
    const grant = world.grantOf(id);
    assert.equal(grant?.freshConnection, true);
    assert.equal(grant?.attempt, 1);
    assert.equal(grant?.placement, 'gpu');
    assert.equal(world.factTypes().includes('backend_crashed'), false);
  });

  test('on a reused connection whose instance then refuses was a death: it counts and is told', () => {
    const world = makeWorld({ policy: chat });
    const id = world.request();
    world.end(id, { kind: 'failed', failure: { kind: 'reset', reused: true }, forwarded: 'nothing' });
    world.end(id, { kind: 'failed', failure: { kind: 'refused' }, forwarded: 'nothing' });
    assert.equal(world.grantOf(id)?.placement, 'cpu');
    assert.equal(world.grantOf(id)?.attempt, 2);
    assert.equal(world.facts.find((fact) => fact.type === 'failover')?.requestId, `x${id}`);
  });

  test('after output is an error in the stream, never a second run', () => {
    const world = makeWorld({ policy: chat });
    const id = world.request();
    world.end(id, { kind: 'failed', failure: { kind: 'reset', reused: false }, forwarded: 'more' });
    assert.equal(world.refusalOf(id)?.code, 'failed_after_output');
  });

  test('of a request that must not be replayed is an error', () => {
    const world = makeWorld({ policy: chat });
    const id = world.request({ neverReplay: true });
    world.end(id, RESET);
    assert.equal(world.refusalOf(id)?.code, 'backend_failed');
  });

  test('by a pause closes the connections at once', () => {
    const world = makeWorld({ policy: chat });
    const id = world.request();
    world.submit({ type: 'instance_paused', instance: world.grantOf(id)?.instance ?? '' });
    assert.ok(world.effects.some((effect) => effect.type === 'close_connections'));
    world.end(id, RESET);
    assert.equal(world.grantOf(id)?.placement, 'cpu');
    assert.equal(world.facts.find((fact) => fact.type === 'failover')?.reason, 'paused');
  });

  test('seen by Docker without a request is told, and the next request goes to the CPU', () => {
    const world = makeWorld({ policy: chat });
    const first = world.request();
    const instance = world.grantOf(first)?.instance ?? '';
    world.end(first);
    world.submit({ type: 'instance_exited', instance, evidence: { ...DEAD, killedOutside: true } });
    assert.equal(world.facts.find((fact) => fact.type === 'backend_crashed')?.reason, 'killed_outside');
    assert.equal(world.factTypes().includes('failover'), false);
    assert.equal(world.grantOf(world.request())?.placement, 'cpu');
  });

  test('that Docker announces by a kill closes the connections at once, and the idle one is told too', () => {
    const world = makeWorld({
      policy: chat,
      evidence: () => ({ ...DEAD, exitCode: 137, killedOutside: true }),
    });
    const id = world.request();
    const instance = world.grantOf(id)?.instance ?? '';
    const killing = { ...DEAD, running: true, exitCode: null, killedOutside: true };
    world.submit({ type: 'instance_exited', instance, evidence: killing });
    assert.ok(world.effects.some((effect) => effect.type === 'close_connections'));
    world.end(id, RESET);
    const cpu = world.grantOf(id);
    assert.equal(cpu?.placement, 'cpu');
    world.end(id);
    world.submit({ type: 'instance_exited', instance: cpu?.instance ?? '', evidence: killing });
    const deaths = world.facts.filter((fact) => fact.type === 'backend_crashed');
    assert.deepEqual(
      deaths.map((fact) => fact.reason),
      ['killed_outside', 'killed_outside'],
    );
    assert.deepEqual(world.placements(), []);
  });

  test('of the GPU that is back before the CPU is there waits for the CPU', () => {
    const world = makeWorld({ policy: chat, holdStarts: true });
    const id = world.request();
    world.finishStart();
    world.end(id, RESET);
    world.advance(30_000);
    assert.deepEqual(world.placements(), ['cpu', 'gpu']);
    const [cpu, gpu] = world.loop.state.instances.keys();
    world.submit({
      type: 'instance_ready',
      instance: gpu ?? '',
      container: 'c',
      measured: { placement: 'gpu', ram: null, vram: null },
    });
    assert.equal(world.grantOf(id), undefined);
    world.submit({ type: 'instance_start_failed', instance: cpu ?? '', evidence: DEAD });
    assert.equal(world.grantOf(id)?.placement, 'gpu');
  });

  test('of the only placement is tried again after a while', () => {
    const cpuOnly = model('chat', { placements: ['cpu'], profiles: { cpu: profile('chat', 'cpu') } });
    const world = makeWorld({ policy: policy([cpuOnly]) });
    const id = world.request();
    world.end(id, RESET);
    assert.equal(world.grantOf(id), undefined);
    world.advance(2_000);
    assert.equal(world.grantOf(id)?.attempt, 2);
  });
});

describe('the GPU', () => {
  test('comes back by a probe without a request, and the CPU goes when it is free', () => {
    const world = makeWorld({ policy: chat });
    const id = world.request();
    world.end(id, RESET);
    world.advance(29_999);
    assert.deepEqual(world.placements(), ['cpu']);
    world.advance(1);
    assert.deepEqual(world.placements().sort(), ['cpu', 'gpu']);
    assert.equal(world.facts.find((fact) => fact.type === 'recovered')?.seconds, 30);
    world.end(id);
    assert.deepEqual(world.placements(), ['gpu']);
    assert.equal(world.grantOf(world.request())?.placement, 'gpu');
  });

  test('that fails its probe is tried later and later', () => {
    let broken = false;
    const world = makeWorld({
      policy: chat,
      startFails: ({ profile: { placement } }) => (broken && placement === 'gpu' ? OOM : null),
    });
    const id = world.request();
    broken = true;
    world.end(id, RESET);
    world.advance(30_000);
    world.advance(59_000);
    const loads = world.started.filter((plan) => plan.profile.placement === 'gpu').length;
    assert.equal(loads, 2);
    world.advance(1_000);
    assert.equal(world.started.filter((plan) => plan.profile.placement === 'gpu').length, 3);
    assert.equal(world.facts.filter((fact) => fact.type === 'failover').length, 1);
  });

  const missing: ExitEvidence = { ...DEAD, exitCode: null, error: 'No such image: llama:gpu' };
  const withoutImage = () => {
    const there = new Set<string>(['llama:cpu']);
    const world = makeWorld({
      policy: chat,
      startFails: ({ profile: { image } }) => (there.has(image) ? null : missing),
    });
    assert.equal(world.grantOf(world.request())?.placement, 'cpu');
    return { world, there };
  };

  test('whose image came is tried at once, not after the wait of its failures', () => {
    const { world, there } = withoutImage();
    there.add('llama:gpu');
    world.submit({ type: 'problem_gone', code: 'image_missing', about: 'llama:else' });
    assert.deepEqual(world.placements(), ['cpu']);
    world.submit({ type: 'problem_gone', code: 'image_missing', about: 'llama:gpu' });
    assert.deepEqual(world.placements().sort(), ['cpu', 'gpu']);
  });

  test('that is defined anew is tried at once, and a change of something else waits', () => {
    const { world, there } = withoutImage();
    there.add('llama:other');
    const configure = (image: string, hash: string) => {
      const profiles = { gpu: profile('chat', 'gpu', { image, hash }), cpu: profile('chat', 'cpu') };
      const next = policy([model('chat', { profiles, idleUnloadMs: 5 * 60_000 })]);
      world.submit({ type: 'configured', policy: next, why: 'reload', settings: [] });
    };
    configure('llama:gpu', 'chat-gpu');
    assert.deepEqual(world.placements(), ['cpu']);
    configure('llama:other', 'chat-gpu-2');
    assert.deepEqual(world.placements().sort(), ['cpu', 'gpu']);
  });

  test('that did not fit is tried at once when people give models more memory', () => {
    const small = { ...chat, memory: { reserve: 'auto', budget: 2 * GIB } } as const;
    const shared = model('chat', {
      profiles: {
        ...model('chat').profiles,
        gpu: profile('chat', 'gpu', { gpu: { ...GPU, memory: 'shared' } }),
      },
    });
    const world = makeWorld({
      policy: { ...small, models: new Map([['chat', shared]]) },
      needOf: ({ placement }) => need(placement === 'cpu' ? GIB : 3 * GIB),
    });
    assert.equal(world.grantOf(world.request())?.placement, 'cpu');
    const more = {
      ...small,
      models: new Map([['chat', shared]]),
      memory: { reserve: 'auto', budget: 6 * GIB },
    } as const;
    world.submit({ type: 'configured', policy: more, why: 'settings', settings: [] });
    assert.deepEqual(world.placements().sort(), ['cpu', 'gpu']);
  });

  test('without room leaves the request to the CPU, and says why', () => {
    const world = makeWorld({ policy: chat, needOf: ({ gpu }) => need(GIB, gpu ? 9 * GIB : 0) });
    assert.equal(world.grantOf(world.request())?.placement, 'cpu');
    const refused = world.facts.find((fact) => fact.type === 'load_refused');
    assert.equal(refused?.placement, 'gpu');
    assert.equal(refused?.need, 9 * GIB);
  });
});

describe('memory', () => {
  test('that does not suffice refuses at once with need and room', () => {
    const world = makeWorld({ policy: chat, needOf: () => need(6 * GIB), memory: host(7 * GIB) });
    const refusal = world.refusalOf(world.request());
    assert.equal(refusal?.code, 'capacity');
    assert.match(refusal?.message ?? '', /needs 6\.0 GiB, but only 5\.0 GiB/);
  });

  test('is made free by the idle model that was used the longest time ago', () => {
    const models = [model('old'), model('young'), model('chat')];
    const world = makeWorld({ policy: policy(models), needOf: () => need(5 * GIB), memory: host(16 * GIB) });
    world.end(world.request({ model: 'old' }));
    world.advance(10);
    world.end(world.request({ model: 'young' }));
    assert.ok(world.grantOf(world.request({ model: 'chat' })));
    const unloaded = world.facts.filter((fact) => fact.type === 'model_unloaded');
    assert.deepEqual(
      unloaded.map((fact) => [fact.model, fact.why]),
      [['old', 'room']],
    );
  });

  test('a model in use never gives way', () => {
    const models = [model('busy'), model('chat')];
    const world = makeWorld({ policy: policy(models), needOf: () => need(8 * GIB), memory: host(16 * GIB) });
    const busy = world.request({ model: 'busy' });
    assert.equal(world.refusalOf(world.request())?.code, 'capacity');
    assert.ok(world.grantOf(busy));
  });

  test('a kill by our own limit raises the limit once', () => {
    let kills = 0;
    const world = makeWorld({
      policy: chat,
      needOf: () => need(GIB),
      startFails: () => {
        kills += 1;
        return kills === 1 ? { ...DEAD, oomKilled: true } : null;
      },
    });
    world.request();
    const [first, second] = world.started;
    assert.equal(first?.memoryLimit, GIB + 512 * MIB);
    assert.ok((second?.memoryLimit ?? 0) > (first?.memoryLimit ?? 0));
    assert.equal(second?.profile.placement, 'gpu');
  });
});

describe('idle', () => {
  test('counts from the end of the last lease', () => {
    const world = makeWorld({ policy: chat });
    const id = world.request();
    world.advance(700_000);
    world.end(id);
    world.advance(599_999);
    assert.deepEqual(world.placements(), ['gpu']);
    world.advance(1);
    assert.deepEqual(world.placements(), []);
    assert.equal(world.facts.at(-1)?.why, 'idle');
  });

  test('a request that arrives in an unload waits for the next load', () => {
    const world = makeWorld({ policy: chat, holdRemovals: true });
    world.end(world.request());
    world.advance(600_000);
    const id = world.request();
    assert.equal(world.grantOf(id), undefined);
    world.finishRemoval();
    assert.equal(world.grantOf(id)?.placement, 'gpu');
    assert.equal(world.started.length, 2);
  });

  test('never unloads a model that is kept loaded', () => {
    const world = makeWorld({ policy: policy([model('chat', { keepLoaded: true })]) });
    assert.deepEqual(world.placements(), ['gpu']);
    world.advance(10_000_000);
    assert.deepEqual(world.placements(), ['gpu']);
  });
});

describe('a command', () => {
  const answers = (world: ReturnType<typeof makeWorld>) =>
    world.effects.flatMap((effect) => (effect.type === 'answer_command' ? [effect.result] : []));

  test('load is done when the model is ready', () => {
    const world = makeWorld({ policy: chat, holdStarts: true });
    world.submit({ type: 'command', id: 1, command: { do: 'load', model: 'chat' } });
    assert.deepEqual(answers(world), []);
    world.finishStart();
    assert.deepEqual(answers(world), [{ ok: true }]);
  });

  test('load that fails everywhere answers with the cause', () => {
    const world = makeWorld({ policy: chat, startFails: () => OOM });
    world.submit({ type: 'command', id: 1, command: { do: 'load', model: 'chat' } });
    const [answer] = answers(world);
    assert.equal(answer?.ok, false);
    assert.match(answer?.ok === false ? answer.message : '', /out_of_memory/);
  });

  test('unload lets running requests finish', () => {
    const world = makeWorld({ policy: chat });
    const id = world.request();
    world.submit({ type: 'command', id: 1, command: { do: 'unload', model: 'chat' } });
    assert.deepEqual(answers(world), []);
    world.end(id);
    assert.deepEqual(answers(world), [{ ok: true }]);
    assert.deepEqual(world.placements(), []);
  });

  test('unload is done when what ran is gone, though a request has the model loaded again', () => {
    const world = makeWorld({ policy: chat, holdRemovals: true });
    world.end(world.request());
    world.submit({ type: 'command', id: 1, command: { do: 'unload', model: 'chat' } });
    const next = world.request();
    world.finishRemoval();
    assert.ok(world.grantOf(next));
    assert.deepEqual(answers(world), [{ ok: true }]);
  });

  test('a container that does not go away ends the wait for it: an unload says so, a restart loads anew', () => {
    for (const verb of ['unload', 'restart'] as const) {
      const world = makeWorld({ policy: chat, holdRemovals: true });
      world.end(world.request());
      world.submit({ type: 'command', id: 1, command: { do: verb, model: 'chat' } });
      assert.deepEqual(answers(world), []);
      world.finishRemoval('stuck');
      const message = 'Its container does not go away, so its memory counts as taken: it does not go.';
      const expected = { unload: { ok: false, code: 'unload_failed', message }, restart: { ok: true } };
      assert.deepEqual(answers(world), [expected[verb]]);
    }
  });

  test('restart replaces the instance', () => {
    const world = makeWorld({ policy: chat });
    world.end(world.request());
    world.submit({ type: 'command', id: 1, command: { do: 'restart', model: 'chat' } });
    assert.deepEqual(answers(world), [{ ok: true }]);
    assert.equal(world.started.length, 2);
    assert.deepEqual(world.placements(), ['gpu']);
  });

  test('mode cpu moves new requests to the CPU', () => {
    const world = makeWorld({ policy: chat });
    const running = world.request();
    const cpu = policy([model('chat', { mode: 'cpu' })]);
    world.submit({ type: 'configured', policy: cpu, why: 'settings' });
    assert.equal(world.grantOf(world.request())?.placement, 'cpu');
    assert.equal(world.grantOf(running)?.placement, 'gpu');
    world.end(running);
    assert.deepEqual(world.placements(), ['cpu']);
  });
});

test('every changed setting is one event, with what it was, what it is and where that comes from', () => {
  const world = makeWorld({ policy: chat });
  const settings = [
    { key: 'models.chat.mode', model: 'chat', from: 'auto', to: 'cpu', source: 'settings' },
    { key: 'models.chat.idleUnload', model: 'chat', from: 600, to: 'never', source: 'settings' },
    { key: 'queue.depth', from: 8, to: 32, source: 'default' },
  ] as const;
  world.submit({ type: 'configured', policy: chat, why: 'settings', settings });
  assert.deepEqual(world.facts, [
    { type: 'mode_changed', model: 'chat', mode: 'cpu', from: 'auto', source: 'settings' },
    {
      type: 'setting_changed',
      model: 'chat',
      key: 'models.chat.idleUnload',
      from: 600,
      value: 'never',
      source: 'settings',
    },
    { type: 'setting_changed', key: 'queue.depth', from: 8, value: 32, source: 'default' },
  ]);
});

describe('a restart of the controller', () => {
  const left = {
    container: 'c9',
    engine: 'local',
    model: 'chat',
    placement: 'gpu',
    running: true,
    instance: null,
  } as const;

  test('adopts a container that was made from the present profile', () => {
    const world = makeWorld({ policy: chat });
    world.submit({
      type: 'containers_observed',
      engine: 'local',
      containers: [{ ...left, hash: 'chat-gpu' }],
    });
    assert.equal(world.grantOf(world.request())?.placement, 'gpu');
    assert.equal(world.started.length, 0);
    assert.deepEqual(world.facts, []);
  });

  test('removes leftovers that were made from another one', () => {
    const world = makeWorld({ policy: chat });
    world.submit({ type: 'containers_observed', engine: 'local', containers: [{ ...left, hash: 'other' }] });
    assert.deepEqual(
      world.effects.filter((effect) => effect.type === 'remove_container'),
      [{ type: 'remove_container', engine: 'local', container: 'c9' }],
    );
  });
});

describe('an observation', () => {
  test('finds an instance that died without an event', () => {
    const world = makeWorld({ policy: chat });
    world.end(world.request());
    world.submit({ type: 'containers_observed', engine: 'local', containers: [] });
    assert.deepEqual(world.placements(), []);
    assert.ok(world.factTypes().includes('backend_crashed'));
  });

  test('sees that a container which would not go is gone', () => {
    const world = makeWorld({ policy: chat, holdRemovals: true });
    const id = world.request();
    const instance = world.grantOf(id)?.instance ?? '';
    world.end(id);
    world.submit({ type: 'command', id: 1, command: { do: 'unload', model: 'chat' } });
    world.submit({ type: 'instance_stuck', instance, detail: 'no such luck' });
    assert.deepEqual(world.placements(), ['gpu']);
    world.submit({ type: 'containers_observed', engine: 'local', containers: [] });
    assert.deepEqual(world.placements(), []);
  });

  test('removes once more what would not go while Docker was away', () => {
    const world = makeWorld({ policy: chat, holdRemovals: true });
    const id = world.request();
    const instance = world.grantOf(id)?.instance ?? '';
    world.end(id);
    world.submit({ type: 'command', id: 1, command: { do: 'unload', model: 'chat' } });
    world.finishRemoval('stuck');
    const observed: ObservedContainer = {
      container: 'c',
      engine: 'local',
      model: 'chat',
      placement: 'gpu',
      hash: 'chat-gpu',
      running: false,
      instance,
    };
    const removals = () => world.effects.filter(({ type }) => type === 'remove_instance').length;
    const before = removals();
    world.submit({ type: 'containers_observed', engine: 'local', containers: [observed] });
    assert.equal(removals(), before + 1);
    world.finishRemoval('stuck');
    assert.deepEqual(world.placements(), ['gpu'], 'it may fail again');
    world.submit({ type: 'containers_observed', engine: 'local', containers: [observed] });
    world.finishRemoval();
    assert.deepEqual(world.placements(), []);
  });
});

describe('a shutdown', () => {
  test('a request whose answer the end of the grace cuts off is told so, though it could be continued', () => {
    const world = makeWorld({ policy: chat });
    const cut = world.request();
    world.submit({ type: 'shutdown' });
    world.advance(25_000);
    assert.ok(world.effects.some(({ type }) => type === 'close_connections'));
    world.end(cut, RESET);
    assert.equal(world.refusalOf(cut)?.code, 'capacity');
  });

  test('tells waiting requests, lets running ones finish, stops the instances', () => {
    const world = makeWorld({ policy: chat });
    const [a, b, c] = [world.request(), world.request(), world.request()];
    world.submit({ type: 'shutdown' });
    assert.equal(world.refusalOf(c)?.code, 'capacity');
    assert.equal(world.effects.at(-1)?.type === 'stopped', false);
    world.end(a);
    world.end(b);
    assert.deepEqual(world.placements(), []);
    assert.equal(world.effects.at(-1)?.type, 'stopped');
  });

  for (const instances of ['stop', 'keep'] as const) {
    test(`cuts what runs on after its grace, tells it, and starts nothing again (${instances})`, () => {
      const shutdown = { instances, graceMs: 25_000 };
      const world = makeWorld({ policy: policy([model('chat')], { shutdown }), holdRemovals: true });
      const [id, output] = [world.request(), world.request()];
      world.submit({ type: 'shutdown' });
      world.advance(24_999);
      assert.equal(
        world.effects.some((effect) => effect.type === 'close_connections'),
        false,
      );
      world.advance(1);
      assert.ok(world.effects.some((effect) => effect.type === 'close_connections'));
      world.end(id, RESET);
      world.end(output, { kind: 'failed', failure: { kind: 'reset', reused: false }, forwarded: 'more' });
      assert.equal(world.refusalOf(id)?.code, 'capacity');
      assert.equal(world.refusalOf(output)?.code, 'failed_after_output');
      assert.equal(world.started.length, 1);
      const stopped = () => world.effects.some((effect) => effect.type === 'stopped');
      assert.equal(stopped(), instances === 'keep', 'the removal is waited for');
      world.finishRemoval();
      assert.equal(stopped(), true);
    });
  }

  test('ends though an instance does not go', () => {
    const world = makeWorld({ policy: chat, holdRemovals: true });
    world.end(world.request());
    world.submit({ type: 'shutdown' });
    world.advance(25_000 + 8_000);
    assert.equal(world.effects.at(-1)?.type, 'stopped');
  });
});

describe('a problem', () => {
  const codes = (world: World) =>
    [...world.loop.state.problems.values()].map(({ code, about }) => [code, about]);

  test('of the engine leaves nothing behind when another one came of it', () => {
    const world = makeWorld({ policy: chat });
    const lost = (code: 'docker_failed' | 'docker_not_running') =>
      world.submit({ type: 'engine_unreachable', engine: 'local', problem: { code, text: '', fix: '' } });
    lost('docker_failed');
    lost('docker_not_running');
    assert.deepEqual(codes(world), [['docker_not_running', undefined]]);
    world.submit({ type: 'engine_reachable', engine: 'local' });
    assert.deepEqual(codes(world), []);
  });

  test('of one file hides none of another, and each goes by itself', () => {
    const world = makeWorld({ policy: chat });
    const cut = (about: string) => ({ code: 'model_truncated', about, text: '', fix: '' }) as const;
    world.submit({ type: 'problem_seen', problem: cut('a.gguf') });
    world.submit({ type: 'problem_seen', problem: cut('b.gguf') });
    world.submit({ type: 'problem_gone', code: 'model_truncated', about: 'a.gguf' });
    assert.deepEqual(codes(world), [['model_truncated', 'b.gguf']]);
  });

  test('with a file that could not be read is gone when it can be', () => {
    const world = makeWorld({ policy: chat });
    const problem = { code: 'model_not_readable', model: 'chat', text: '', fix: '' } as const;
    world.submit({ type: 'need_unknown', hash: 'chat-gpu', problem });
    assert.equal(codes(world).length, 1);
    world.advance(60_000);
    assert.deepEqual(codes(world), []);
  });
});
