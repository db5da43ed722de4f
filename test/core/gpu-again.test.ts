/** The machine's GPUs are looked at again: what came is used and told, what is away for a moment is not forgotten. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { lookedAgain } from '../../app/core/gpu-again.ts';
import { type Card, gpusInUse, judgeCards } from '../../app/core/gpu-detection.ts';
import { snapshot } from '../../app/core/snapshot.ts';
import type { Model } from '../../app/core/types.ts';
import { GPU, model, policy, profile } from '../support/model.ts';
import { fc } from '../support/property.ts';
import { DEAD, makeWorld, type World } from '../support/world.ts';

const NVIDIA = 0x10de;
const card = (pci: string, driver: string | null = 'nvidia'): Card => ({
  pci,
  vendor: NVIDIA,
  device: 0x2504,
  driver,
  nodes: [],
  vram: null,
  vramVendor: null,
  model: null,
});
const judged = (...cards: Card[]) => judgeCards(cards, { hasKfd: false });
const devices = (detected: ReturnType<typeof judged>) =>
  gpusInUse(detected).map(({ devices: [first] }) => first);

describe('a second look', () => {
  const [first, second] = ['0000:01:00.0', '0000:02:00.0'];

  test('uses a card whose driver was loaded since, and one that was plugged in', () => {
    const { detected, came } = lookedAgain(judged(card(first, null)), judged(card(first), card(second)));
    assert.deepEqual(
      came.map(({ pci }) => pci),
      [first, second],
    );
    assert.deepEqual(devices(detected), ['CUDA0', 'CUDA1']);
    assert.ok(detected.every(({ problem }) => problem === null));
  });

  test('uses a card that was plugged in beside one that is in use', () => {
    const { detected, came } = lookedAgain(judged(card(first)), judged(card(first), card(second)));
    assert.deepEqual(
      came.map(({ pci }) => pci),
      [second],
    );
    assert.deepEqual(devices(detected), ['CUDA0', 'CUDA1']);
  });

  test('keeps a card that is away, and the numbers of the others; with what is wrong where it is known', () => {
    const before = judged(card(first), card(second));
    const gone = lookedAgain(before, judged(card(second)));
    assert.deepEqual(devices(gone.detected), ['CUDA0', 'CUDA1']);
    assert.deepEqual(gone.came, []);
    assert.deepEqual(
      lookedAgain(gone.detected, before).came.map(({ pci }) => pci),
      [first],
    );
    const unloaded = lookedAgain(before, judged(card(first, null), card(second)));
    assert.deepEqual(devices(unloaded.detected), ['CUDA0', 'CUDA1']);
    assert.deepEqual(
      unloaded.detected.map(({ problem }) => problem?.code ?? null),
      ['gpu_driver_missing', null],
    );
    const back = lookedAgain(unloaded.detected, before);
    assert.deepEqual(back.detected, before);
    assert.deepEqual(
      back.came.map(({ pci }) => pci),
      [first],
    );
  });

  test('tells one that is back though another one is still away', () => {
    const before = judged(card(first), card(second));
    const both = lookedAgain(before, []);
    const back = lookedAgain(both.detected, judged(card(second)));
    assert.deepEqual(
      back.came.map(({ gpu }) => gpu.devices),
      [['CUDA1']],
    );
    assert.deepEqual(lookedAgain(back.detected, judged(card(second))).came, []);
  });

  test('never forgets a card that was in use, and tells none that was', () => {
    const machine = fc
      .uniqueArray(fc.tuple(fc.nat(5), fc.constantFrom('nvidia', 'nouveau', null)), {
        selector: ([slot]) => slot,
        maxLength: 6,
      })
      .map((cards) => judged(...cards.map(([slot, driver]) => card(`0000:0${slot}:00.0`, driver))));
    fc.assert(
      fc.property(fc.array(machine, { minLength: 1, maxLength: 6 }), (looks) => {
        let detected: ReturnType<typeof judged> = [];
        for (const look of looks) {
          const again = lookedAgain(detected, look);
          for (const pci of inUse(detected)) assert.ok(inUse(again.detected).includes(pci));
          for (const { pci, problem } of again.came) {
            assert.equal(problem, null);
            const known = detected.find((gpu) => gpu.pci === pci);
            assert.ok(known?.use !== 'on' || known.problem !== null || known.away);
          }
          detected = again.detected;
        }
      }),
    );
  });
});

const inUse = (detected: ReturnType<typeof judged>) =>
  detected.filter(({ use }) => use === 'on').map(({ pci }) => pci);

/** As configured on a machine without a GPU. */
const without = (more: Partial<Model> = {}) =>
  model('chat', { profiles: { cpu: profile('chat', 'cpu') }, ...more });
const looks = (world: World) => world.effects.filter(({ type }) => type === 'look_for_gpus').length;

describe('a load that finds no GPU', () => {
  test('asks for another look, once a load; one that finds a GPU does not', () => {
    const world = makeWorld({ policy: policy([without()], { gpus: [] }) });
    world.end(world.request());
    world.end(world.request());
    assert.equal(looks(world), 1);
    const other = makeWorld({ policy: policy([model('chat')]) });
    other.end(other.request());
    assert.equal(looks(other), 0);
  });

  test('asks for another look also where only a GPU would do', () => {
    const world = makeWorld({ policy: policy([without({ mode: 'gpu' })], { gpus: [] }) });
    world.request();
    assert.equal(looks(world), 1);
  });

  test('asks for none where the model may not use one', () => {
    for (const more of [{ placements: ['cpu'] as const }, { mode: 'cpu' as const }]) {
      const world = makeWorld({ policy: policy([without(more)], { gpus: [] }) });
      world.end(world.request());
      assert.equal(looks(world), 0);
    }
  });

  test('asks for one also where there is no other placement: request and command are refused, the next may not be', () => {
    const only = without({ placements: ['gpu'], profiles: {} });
    const world = makeWorld({ policy: policy([only], { gpus: [] }) });
    assert.ok(world.refusalOf(world.request()));
    assert.equal(looks(world), 1);
    world.submit({ type: 'command', id: 1, command: { do: 'load', model: 'chat' } });
    assert.equal(looks(world), 2);
    const found = policy([model('chat', { placements: ['gpu'], profiles: { gpu: profile('chat', 'gpu') } })]);
    world.submit({ type: 'configured', policy: found, why: 'scan', gpus: [GPU] });
    assert.equal(world.grantOf(world.request())?.placement, 'gpu');
  });
});

describe('a GPU that came', () => {
  test('is told, and used by the next load', () => {
    const world = makeWorld({ policy: policy([without()], { gpus: [] }) });
    world.submit({ type: 'configured', policy: policy([model('chat')]), why: 'scan', gpus: [GPU] });
    assert.deepEqual(world.facts.at(-1), { type: 'gpu_back', engine: 'local', detail: 'card' });
    assert.equal(world.grantOf(world.request())?.placement, 'gpu');
  });

  test('takes over at once from the CPU that a model uses for want of it, and not from one that it prefers', () => {
    const world = makeWorld({ policy: policy([without()], { gpus: [] }) });
    world.end(world.request());
    assert.deepEqual(world.placements(), ['cpu']);
    world.submit({ type: 'configured', policy: policy([model('chat')]), why: 'scan', gpus: [GPU] });
    assert.deepEqual(world.placements(), ['gpu']);
    assert.equal(world.facts.find(({ type }) => type === 'recovered')?.reason, 'device_missing');
    const cpuFirst = { placements: ['cpu', 'gpu'] as const };
    const other = makeWorld({ policy: policy([without(cpuFirst)], { gpus: [] }) });
    other.end(other.request());
    const found = policy([model('chat', cpuFirst)]);
    other.submit({ type: 'configured', policy: found, why: 'scan', gpus: [GPU] });
    assert.deepEqual(other.placements(), ['cpu']);
  });

  test('is only for models that had none: what could be had before, and models that are new, wait for nothing', () => {
    const atHome = policy([model('chat')]);
    const world = makeWorld({ policy: atHome, holdStarts: true });
    const about = { container: 'c', engine: 'local', model: 'chat', hash: 'chat-cpu', running: true };
    const containers = [{ ...about, placement: 'cpu' as const, instance: null }];
    world.submit({ type: 'containers_observed', engine: 'local', containers });
    const found = policy([model('chat'), model('new')]);
    world.submit({ type: 'configured', policy: found, why: 'scan', gpus: [{ ...GPU, name: 'second' }] });
    for (const name of ['chat', 'new']) {
      assert.deepEqual([...(world.loop.state.models.get(name)?.outages.keys() ?? [])], [], name);
    }
  });

  test('is for what needs a GPU: a CPU that can be had now, and is preferred, is not put off', () => {
    const placements = ['cpu', 'gpu'] as const;
    const gpuOnly = model('chat', { placements, profiles: { gpu: profile('chat', 'gpu') } });
    const world = makeWorld({ policy: policy([gpuOnly]), holdStarts: true });
    const request = world.request();
    world.finishStart();
    world.end(request);
    const found = policy([model('chat', { placements })]);
    world.submit({ type: 'configured', policy: found, why: 'scan', gpus: [{ ...GPU, name: 'second' }] });
    assert.deepEqual([...(world.loop.state.models.get('chat')?.outages.keys() ?? [])], []);
  });

  test('changes nothing for a model that runs on the CPU for another reason', () => {
    const world = makeWorld({
      policy: policy([model('chat')]),
      startFails: ({ profile: { placement } }) => (placement === 'gpu' ? { ...DEAD, log: ['other'] } : null),
    });
    assert.equal(world.grantOf(world.request())?.placement, 'cpu');
    const before = world.loop.state.models.get('chat')?.outages.get('gpu');
    assert.equal(before?.failures, 1);
    const second = { ...GPU, name: 'second', engine: 'tower' };
    world.submit({ type: 'configured', policy: policy([model('chat')]), why: 'scan', gpus: [second] });
    assert.deepEqual(world.loop.state.models.get('chat')?.outages.get('gpu'), before);
  });

  const MISSING = { ...DEAD, error: 'could not select device driver "nvidia" with capabilities: [[gpu]]' };
  const broken = () => {
    let mended = false;
    const world = makeWorld({
      policy: policy([model('chat')]),
      startFails: ({ profile: { placement } }) => (placement === 'gpu' && !mended ? MISSING : null),
    });
    assert.equal(world.grantOf(world.request())?.placement, 'cpu');
    return {
      world,
      mend() {
        mended = true;
      },
    };
  };

  test('ends the wait of what failed for want of it', () => {
    const { world, mend } = broken();
    mend();
    world.submit({ type: 'configured', policy: policy([model('chat')]), why: 'scan', gpus: [GPU] });
    assert.deepEqual(world.placements().toSorted(), ['cpu', 'gpu']);
  });

  test('by a restart of Docker, which the container toolkit of a driver asks for, is tried when Docker is back', () => {
    const { world, mend } = broken();
    mend();
    const problem = { code: 'docker_not_running', text: '', fix: '' } as const;
    world.submit({ type: 'engine_unreachable', engine: 'local', problem });
    world.submit({ type: 'engine_reachable', engine: 'local' });
    const { state } = world.loop;
    const { problems } = snapshot(state, world.now(), { seq: 0, version: '', iso: String });
    assert.deepEqual(problems, []);
    assert.equal(state.models.get('chat')?.outages.get('gpu')?.retryAt, world.now().mono);
  });
});
