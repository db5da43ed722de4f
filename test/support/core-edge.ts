/** The model API on a real socket with the real core behind its gate: the verdicts are the core's. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after } from 'node:test';
import { modelApi } from '../../app/adapters/http/forward/index.ts';
import { systemClock } from '../../app/clock.ts';
import type { FactBody } from '../../app/core/facts.ts';
import { UNKNOWN_SPEED } from '../../app/core/speed.ts';
import type { Gpu, HostMemory } from '../../app/core/types.ts';
import { makeGate } from '../../app/gate.ts';
import { type Loop, makeLoop } from '../../app/loop.ts';
import { makeWaiters } from '../../app/waiters.ts';
import { fakeLlama, silent } from './fake-llama.ts';
import { GIB, GPU, host, model, need, policy, profile } from './model.ts';

const SETTINGS = {
  bodyLimit: 1_000_000,
  connectMs: 60_000,
  stallMs: 60_000,
  silenceMs: 30_000,
  firstToken: 'auto',
  keepaliveMs: 10_000,
  keysChecked: false,
  resume: true,
} as const;

/** Two instances that speak HTTP, and homes on them that end with the test file. */
export async function twoInstances() {
  const gpu = await fakeLlama(silent);
  const cpu = await fakeLlama(silent);
  const edges: CoreEdge[] = [];
  after(async () => {
    for (const edge of edges) await edge.close();
    await gpu.close();
    await cpu.close();
  });
  return {
    gpu,
    cpu,
    async home(contexts?: Contexts, machine?: Machine): Promise<CoreEdge> {
      const edge = await coreEdge({ gpu: gpu.port, cpu: cpu.port }, contexts, machine);
      edges.push(edge);
      return edge;
    },
  };
}

/** Tokens of each instance's slot. */
export type Contexts = Readonly<Record<'gpu' | 'cpu', number>>;

export interface Machine {
  readonly gpu: Gpu;
  /** As the host is read at that moment. */
  readonly memory: () => HostMemory;
}

export interface CoreEdge {
  readonly url: string;
  readonly loop: Loop;
  readonly facts: readonly FactBody[];
  close(): Promise<void>;
}

/**
 * `ports` of its instances, which have one slot each and are ready as soon as they are started; `contexts` in
 * tokens.
 */
export async function coreEdge(
  ports: Readonly<Record<'gpu' | 'cpu', number>>,
  contexts: Contexts = { gpu: 2048, cpu: 2048 },
  machine: Machine = { gpu: GPU, memory: () => host(12 * GIB) },
): Promise<CoreEdge> {
  const facts: FactBody[] = [];
  const waiters = makeWaiters();
  const nothing = () => {};
  const dead = {
    running: false,
    exitCode: 139,
    oomKilled: false,
    killedOutside: false,
    error: null,
    log: [],
  };
  const loop: Loop = makeLoop({
    clock: systemClock,
    publish: (told) => facts.push(...told),
    executors: {
      ...waiters.executors,
      identify_body: ({ request }) =>
        loop.submit({ type: 'body_identified', request, body: waiters.bodyHash(request) }),
      start_instance: ({ plan }) =>
        loop.submit({
          type: 'instance_ready',
          instance: plan.instance,
          container: `c-${plan.instance}`,
          measured: { placement: plan.profile.placement, ram: null, vram: null },
        }),
      adopt_instance: nothing,
      remove_instance({ instance, examine }) {
        if (examine) loop.submit({ type: 'instance_exited', instance, evidence: dead });
        loop.submit({ type: 'instance_removed', instance, memoryBack: true });
      },
      close_connections: nothing,
      examine_instance: nothing,
      remove_container: nothing,
      estimate_need: ({ profile: { hash } }) =>
        loop.submit({ type: 'need_estimated', hash, need: need(GIB) }),
      count_tokens: ({ request, instance }) =>
        waiters.countTokens(request, instance, (tokens) =>
          loop.submit({ type: 'tokens_counted', request, tokens }),
        ),
      read_ahead: nothing,
      look_for_gpus: () => {},
      sample_host: () => loop.submit({ type: 'host_sampled', host: machine.memory() }),
      sample_for_verdict({ attempt }) {
        setImmediate(() => {
          loop.submit({ type: 'host_sampled', host: machine.memory() });
          loop.submit({ ...attempt, sampled: true });
        });
      },
      stopped: nothing,
    },
  });
  const gate = makeGate({ loop, waiters, newest: () => 0, clock: systemClock, version: 'test' });
  const profiles = {
    gpu: profile('chat', 'gpu', { parallel: 1, context: contexts.gpu, gpu: machine.gpu }),
    cpu: profile('chat', 'cpu', { parallel: 1, context: contexts.cpu }),
  };
  loop.submit({ type: 'engine_reachable', engine: 'local' });
  loop.submit({ type: 'containers_observed', engine: 'local', containers: [] });
  loop.submit({ type: 'configured', why: 'start', policy: policy([model('chat', { profiles })]) });
  const api = modelApi({
    gate,
    targetOf(instance) {
      const found = loop.state.instances.get(instance);
      if (found === undefined || found.placement === 'split') return undefined;
      const port = ports[found.placement];
      return { host: '127.0.0.1', port, key: 'k', model: 'chat', profile: found.profile.hash };
    },
    speedOf: () => UNKNOWN_SPEED,
    settings: () => SETTINGS,
    catalog: () => gate.view().models,
    clock: systemClock,
    metrics: { attempt() {}, attemptFailed() {}, request() {}, keyed() {} },
    log: { debug() {} },
  });
  const server = createServer((req, res) => api.handler(req, res, () => res.destroy()));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    loop,
    facts,
    async close() {
      api.close();
      loop.close();
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
