import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { negotiated } from '../../../app/adapters/docker/api-version.ts';
import { engineProblem } from '../../../app/adapters/docker/engine-problem.ts';
import { isSettled, judge, NO_SIGNS, withEvent } from '../../../app/adapters/docker/exit-signs.ts';
import { instanceName } from '../../../app/adapters/docker/names.ts';
import { gpusOf } from '../../../app/adapters/docker/others.ts';
import { portAllocator } from '../../../app/adapters/docker/port-allocator.ts';
import { workingMemory } from '../../../app/adapters/docker/services-memory.ts';
import { appLabels, networkPlan, type Self } from '../../../app/adapters/docker/whoami.ts';
import { AppError } from '../../../app/errors.ts';
import { fc } from '../../support/property.ts';

describe('the API version', () => {
  const cases = [
    { engine: 'Docker 20.10', newest: '1.41', oldest: '1.12', spoken: '1.41' },
    { engine: 'Docker 24', newest: '1.43', oldest: '1.12', spoken: '1.43' },
    { engine: 'Docker 28.5', newest: '1.51', oldest: '1.24', spoken: '1.51' },
    { engine: 'Docker 29', newest: '1.52', oldest: '1.44', spoken: '1.51' },
    { engine: 'one of the future', newest: '1.90', oldest: '1.60', spoken: '1.60' },
    { engine: 'one that does not tell its oldest', newest: '1.47', oldest: undefined, spoken: '1.47' },
  ];
  for (const { engine, newest, oldest, spoken } of cases) {
    test(`with ${engine} is ${spoken}`, () => assert.equal(negotiated({ newest, oldest }), spoken));
  }
  test('of an engine that is too old is refused', () => {
    assert.throws(
      () => negotiated({ newest: '1.39', oldest: '1.12' }),
      (error: unknown) => error instanceof AppError && error.code === 'docker_too_old',
    );
  });
});

describe('ports', () => {
  test('are never given twice at a time, nor again before they rested', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(90), { maxLength: 60 }), fc.nat(20_000), (steps, start) => {
        const ports = portAllocator(60, start);
        const taken: number[] = [];
        const freedAt = new Map<number, number>();
        let now = 0;
        for (const step of steps) {
          now += step;
          const oldest = step % 3 === 0 ? taken.shift() : undefined;
          if (oldest !== undefined) {
            ports.free(oldest, now);
            freedAt.set(oldest, now);
          } else {
            const port = ports.take(now);
            assert.ok(!taken.includes(port));
            assert.ok(now - (freedAt.get(port) ?? -60) >= 60);
            taken.push(port);
          }
        }
      }),
    );
  });

  test('of adopted instances are left out', () => {
    const ports = portAllocator(60, 0);
    ports.reserve(20_000);
    assert.equal(ports.take(0), 20_001);
  });
});

describe('an exit', () => {
  const event = (action: string, at: number, more: object = {}) => ({
    action,
    at,
    exitCode: null,
    signal: null,
    ...more,
  });
  const die = (at: number, exitCode: number) => event('die', at, { exitCode });

  test('by the memory limit has its event close by', () => {
    const signs = withEvent(withEvent(NO_SIGNS, event('oom', 1000)), die(1030, 137));
    assert.deepEqual(judge(signs, null), { exitCode: 137, oomKilled: true, killedOutside: false });
  });

  test('long after an OOM that it survived is not by the limit, though the mark is sticky', () => {
    const signs = withEvent(withEvent(NO_SIGNS, event('oom', 1000)), die(9000, 137));
    assert.equal(judge(signs, { exitCode: 137, oomKilled: true }).oomKilled, false);
  });

  test('by our own kill is neither the limit nor somebody else', () => {
    const signs = [event('oom', 1000), event('kill', 1010, { signal: '9' }), die(1020, 137)].reduce(
      withEvent,
      {
        ...NO_SIGNS,
        byUs: true,
      },
    );
    assert.deepEqual(judge(signs, null), { exitCode: 137, oomKilled: false, killedOutside: false });
  });

  test('by a signal from outside is told, also where the kill is told last', () => {
    const signs = [die(1000, 137), event('kill', 1001, { signal: '9' })].reduce(withEvent, NO_SIGNS);
    assert.equal(judge(signs, null).killedOutside, true);
    assert.equal(withEvent(NO_SIGNS, event('kill', 1, { signal: '28' })).byOthers, false);
  });

  test('is settled by everything but a bare 137 or 143', () => {
    assert.equal(isSettled(withEvent(NO_SIGNS, die(1, 134))), true);
    assert.equal(isSettled(withEvent(NO_SIGNS, die(1, 137))), false);
    assert.equal(isSettled(withEvent(NO_SIGNS, die(1, 143))), false);
    assert.equal(isSettled(withEvent(withEvent(NO_SIGNS, die(1, 137)), event('oom', 2))), true);
  });

  test('whose events were missed is judged by what the container shows', () => {
    const expected = { exitCode: 137, oomKilled: true, killedOutside: false };
    assert.deepEqual(judge(NO_SIGNS, { exitCode: 137, oomKilled: true }), expected);
  });
});

const HOME = { home: 'home', owner: '0a1b2c3d-0000-4000-8000-000000000000' };
const OURS = 'llamastead-home-0a1b2c3d';

test('only what a composed controller makes stands in for it', () => {
  const self: Self = { id: 'me', mounts: [], networks: [], networkMode: 'x', composed: true };
  assert.deepEqual(appLabels(self), { 'com.docker.compose.replace': 'me' });
  assert.deepEqual(appLabels({ ...self, composed: false }), {});
  assert.deepEqual(appLabels(null), {});
});

describe('the network of the holder', () => {
  const self = (networks: readonly string[], networkMode = 'x'): Self => ({
    id: 'me',
    mounts: [],
    networks,
    networkMode,
    composed: true,
  });
  const cases = [
    { where: 'on the host', self: null, plan: { kind: 'make', name: OURS, join: null } },
    {
      where: "in the host's network",
      self: self(['host'], 'host'),
      plan: { kind: 'make', name: OURS, join: null },
    },
    { where: 'on a named network', self: self(['bridge', 'nas']), plan: { kind: 'use', name: 'nas' } },
    {
      where: 'on the default bridge only',
      self: self(['bridge']),
      plan: { kind: 'make', name: OURS, join: 'me' },
    },
    {
      where: 'joined before',
      self: self(['bridge', OURS]),
      plan: { kind: 'make', name: OURS, join: null },
    },
    {
      where: 'on the network of a home of this name whose state was lost',
      self: self(['bridge', 'llamastead-home-ffffffff', 'llamastead-home']),
      plan: { kind: 'make', name: OURS, join: 'me' },
    },
    {
      where: 'on the network of its own compose file',
      self: self(['llamastead-home_default']),
      plan: { kind: 'use', name: 'llamastead-home_default' },
    },
    {
      where: "in another container's network on the default bridge",
      self: self(['bridge'], 'container:vpn'),
      plan: { kind: 'use', name: 'bridge' },
    },
  ];
  for (const { where, self, plan } of cases) {
    test(`for a controller ${where}`, () => assert.deepEqual(networkPlan('auto', self, HOME), plan));
  }
  test('is the configured one where one is', () => {
    assert.deepEqual(networkPlan('lan', self(['nas']), HOME), { kind: 'use', name: 'lan' });
  });
});

test('working memory leaves out what the kernel can drop, on cgroup v1 and v2', () => {
  const v1 = { usage: 900, stats: { total_inactive_file: 300, inactive_file: 1 } };
  const v2 = { usage: 900, stats: { inactive_file: 400 } };
  assert.equal(workingMemory({ memory_stats: v1 }), 600);
  assert.equal(workingMemory({ memory_stats: v2 }), 500);
  assert.equal(workingMemory({ memory_stats: {} }), 0);
});

test('a name is valid for Docker whatever the model is called', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (model) => {
      const name = instanceName('home', model, 'gpu', 'abc123');
      assert.match(name, /^llamastead-home-[a-z0-9-]{1,40}-gpu-abc123$/);
    }),
  );
});

test('a problem with the engine says what it is and what to do', () => {
  const seen = (system: string) =>
    engineProblem('local', '/run/d.sock', new AppError('docker_unreachable', 'x', { details: { system } }));
  assert.equal(seen('ENOENT').code, 'docker_socket_missing');
  assert.equal(seen('EACCES').code, 'docker_socket_forbidden');
  assert.equal(seen('ECONNREFUSED').code, 'docker_not_running');
  assert.equal(seen('ETIMEDOUT').code, 'docker_not_answering');
  assert.equal(seen('EPIPE').code, 'docker_failed');
  for (const system of ['ENOENT', 'EACCES']) assert.ok(seen(system).text.includes('/run/d.sock'));
});

describe('which GPU a foreign container holds', () => {
  const none = { Labels: {}, Env: [] };
  const table: [string, Parameters<typeof gpusOf>[0]['HostConfig'], string[], string[]][] = [
    ['nothing', {}, [], []],
    ['a render node', { Devices: [{ PathOnHost: '/dev/dri/renderD128' }] }, [], ['dri']],
    ['AMD compute', { Devices: [{ PathOnHost: '/dev/kfd' }] }, [], ['dri']],
    ['a bind of the folder', { Binds: ['/dev/dri:/dev/dri:ro'] }, [], ['dri']],
    ['a folder with such a name', { Binds: ['/data/dev/dri:/x'] }, [], []],
    ['NVIDIA by request', { DeviceRequests: [{ Driver: '', Capabilities: [['gpu']] }] }, [], ['nvidia']],
    [
      'NVIDIA by CDI',
      { DeviceRequests: [{ Driver: 'cdi', DeviceIDs: ['nvidia.com/gpu=all'] }] },
      [],
      ['nvidia'],
    ],
    ['NVIDIA by its runtime', { Runtime: 'nvidia' }, ['NVIDIA_VISIBLE_DEVICES=all'], ['nvidia']],
    ['the runtime alone', { Runtime: 'nvidia' }, ['NVIDIA_VISIBLE_DEVICES=void'], []],
    ['a device node', { Devices: [{ PathOnHost: '/dev/nvidia0' }] }, [], ['nvidia']],
  ];
  for (const [what, HostConfig, Env, expected] of table) {
    test(what, () => assert.deepEqual(gpusOf({ HostConfig, Config: { ...none, Env } }), expected));
  }
});
