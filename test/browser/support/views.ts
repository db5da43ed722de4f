/** Views and facts for a scripted home, each with the fields that a test does not care about filled in. */
import type { Fact, FactBody } from '../../../app/core/facts.ts';
import type { InstanceView, MemoryView, ModelView, View } from '../../../app/core/view.ts';

export const GIB = 1024 ** 3;

/** Whole bytes of so many GiB. */
export function gib(amount: number): number {
  return Math.round(amount * GIB);
}

/** ISO 8601 with the zone of a home in Korea, as a server there tells it. */
export function koreanTime(wall: number): string {
  return new Date(wall + 9 * 3600_000).toISOString().replace('Z', '+09:00');
}

export function aModel(fields: Partial<ModelView> = {}): ModelView {
  const name = fields.name ?? 'chat';
  return {
    name,
    displayName: name,
    aliases: [],
    task: 'chat',
    mode: 'auto',
    status: 'ready',
    placement: 'gpu',
    placements: ['gpu', 'cpu'],
    keepLoaded: false,
    idleUnload: 600,
    unloadAt: null,
    context: 8192,
    parallel: 2,
    file: 'qwen2.5-7b-instruct-q4_k_m.gguf',
    outage: null,
    reduced: null,
    lastError: null,
    need: null,
    loadSeconds: { gpu: 12, cpu: 6.4 },
    tokensPerSecond: {},
    answerTokens: null,
    lastUsed: null,
    standby: null,
    ...fields,
  };
}

export function anInstance(fields: Partial<InstanceView> = {}): InstanceView {
  return {
    model: 'chat',
    placement: 'gpu',
    engine: 'local',
    state: 'ready',
    container: '3f0c1d2e4b5a',
    since: koreanTime(Date.now() - 90_000),
    measured: { placement: fields.placement ?? 'gpu', ram: gib(0.9), vram: gib(5.1) },
    leases: 0,
    slots: 2,
    memory: gib(1.1),
    ...fields,
  };
}

export const NAS_MEMORY: MemoryView = {
  total: 16 * GIB,
  available: gib(9.4),
  reserve: 2 * GIB,
  budget: 14 * GIB,
  models: gib(1.1),
  services: gib(3.2),
};

export function aView(fields: Partial<View> = {}): View {
  return {
    seq: 0,
    time: koreanTime(Date.now()),
    version: '0.1.0',
    home: 'home',
    models: [aModel()],
    instances: [anInstance()],
    requests: [],
    leases: 0,
    queue: 0,
    memory: NAS_MEMORY,
    gpus: [
      {
        name: 'NVIDIA RTX 3060',
        kind: 'nvidia',
        memory: 'dedicated',
        total: 12 * GIB,
        used: gib(6.4),
        models: gib(5.1),
        headroom: gib(0.5),
      },
    ],
    problems: [],
    drill: null,
    counters: { requests: 0, failed: 0, failovers: 0 },
    lastDrill: null,
    lastFailover: null,
    ...fields,
  };
}

/** Numbered facts, one a minute, the last one a minute ago. */
export function someFacts(bodies: readonly FactBody[], now = Date.now()): readonly Fact[] {
  return bodies.map((body, i) => ({
    v: 1,
    seq: i + 1,
    time: koreanTime(now - (bodies.length - i) * 60_000),
    ...body,
  }));
}
