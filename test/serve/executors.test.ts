/** Whatever an effect's part does, the core hears how it ended: what waits for it would wait for ever. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { InstancePlan } from '../../app/core/effects.ts';
import type { Input } from '../../app/core/inputs.ts';
import { makeExecutors } from '../../app/executors.ts';
import type { Containers, DeviceMemory, Host } from '../../app/ports.ts';
import { makeWaiters } from '../../app/waiters.ts';
import { manualClock } from '../support/clock.ts';
import { host, need, profile } from '../support/model.ts';

const broken = () => Promise.reject(new Error('a fault of the part'));
const throwing = () => {
  throw new Error('a fault of the part');
};
const GPU_PROFILE = profile('chat', 'gpu');
const PLAN: InstancePlan = {
  instance: 'i1',
  model: 'chat',
  profile: GPU_PROFILE,
  memoryLimit: 1,
  promptCache: 0,
};

type Parts = Partial<Pick<Containers, 'start' | 'adopt' | 'examine' | 'remove'> & Host> & {
  readonly cards?: DeviceMemory['cards'];
};

function executors({ cards = async () => ({}), sample = async () => host(1), ...containers }: Parts) {
  const told: Input[] = [];
  const logged: string[] = [];
  const ok = { ok: true, container: 'c', measured: { placement: null, ram: null, vram: null } } as const;
  const made = makeExecutors({
    waiters: makeWaiters(),
    containers: {
      start: async () => ok,
      adopt: async () => ok,
      examine: async () => ({
        running: false,
        exitCode: 1,
        oomKilled: false,
        killedOutside: false,
        error: null,
        log: [],
      }),
      remove: async () => {},
      removeContainer: async () => {},
      ...containers,
    },
    host: { sample },
    devices: { cards, fresh: cards },
    readAhead: { read: async () => 0 },
    estimator: { need: async () => need(1) },
    closeConnections() {},
    lookForGpus() {},
    submit: (input) => void told.push(input),
    stopped() {},
    clock: manualClock(),
    log: { error: (_, message) => void logged.push(message) },
  });
  return { made, told, logged };
}

const types = (told: readonly Input[]) => told.map(({ type }) => type);
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('a start that breaks', () => {
  for (const [how, start] of [
    ['by a rejection', broken],
    ['at once', throwing],
  ] as const) {
    test(`${how} has failed, with why`, async () => {
      const { made, told, logged } = executors({ start, adopt: start });
      made.start_instance({ type: 'start_instance', plan: PLAN });
      made.adopt_instance({
        ...{ type: 'adopt_instance', instance: 'i2', container: 'c', profile: GPU_PROFILE, model: 'chat' },
      });
      await settled();
      assert.deepEqual(types(told), ['instance_start_failed', 'instance_start_failed']);
      for (const input of told) {
        assert.ok(input.type === 'instance_start_failed');
        assert.match(input.evidence.error ?? '', /a fault of the part/);
      }
      assert.equal(logged.length, 2);
    });
  }
});

describe('a removal ends', () => {
  const remove = { type: 'remove_instance', instance: 'i1', how: 'kill', examine: true, device: 1 } as const;
  const table: [string, Parts, string[]][] = [
    ['though its cards cannot be read', { cards: broken }, ['instance_exited', 'instance_removed']],
    ['though nothing can be examined', { examine: broken }, ['instance_removed']],
    ['as stuck where it breaks', { remove: broken }, ['instance_exited', 'instance_stuck']],
    ['as stuck where it breaks at once', { remove: throwing }, ['instance_exited', 'instance_stuck']],
    ['whatever breaks', { cards: throwing, examine: throwing, remove: throwing }, ['instance_stuck']],
  ];
  for (const [what, parts, expected] of table) {
    test(what, async () => {
      const { made, told } = executors(parts);
      made.remove_instance(remove);
      await settled();
      assert.deepEqual(types(told), expected);
    });
  }
});

describe('a verdict that hangs on memory', () => {
  const attempt = {
    type: 'attempt_ended',
    request: 1,
    outcome: {
      kind: 'failed',
      failure: { kind: 'http', status: 500, message: 'no' },
      forwarded: 'nothing',
    },
  } as const;
  const table: [string, Parts, string[]][] = [
    ['is given after the reading', {}, ['host_sampled', 'attempt_ended']],
    ['is given though the host cannot be read', { sample: broken }, ['attempt_ended']],
    ['is given though the reading breaks at once', { sample: throwing }, ['attempt_ended']],
  ];
  for (const [what, parts, expected] of table) {
    test(what, async () => {
      const { made, told } = executors(parts);
      made.sample_for_verdict({ type: 'sample_for_verdict', attempt });
      await settled();
      assert.deepEqual(types(told), expected);
      assert.deepEqual(told.at(-1), { ...attempt, sampled: true });
    });
  }
});
