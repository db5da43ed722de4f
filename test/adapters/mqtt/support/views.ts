/** Views as the gate gives them, for tests. */
import type { InstanceView, ModelView, View } from '../../../../app/core/view.ts';

export const GIB = 1024 ** 3;

export function modelView(part: Partial<ModelView> = {}): ModelView {
  return {
    name: 'chat',
    displayName: 'chat',
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
    file: 'chat.gguf',
    outage: null,
    reduced: null,
    lastError: null,
    need: null,
    loadSeconds: {},
    tokensPerSecond: {},
    answerTokens: null,
    lastUsed: null,
    standby: null,
    ...part,
  };
}

export function instanceView(part: Partial<InstanceView> = {}): InstanceView {
  return {
    model: 'chat',
    placement: 'gpu',
    engine: 'local',
    state: 'ready',
    container: '0123456789ab',
    since: '2026-11-30T10:00:00.000Z',
    measured: null,
    leases: 0,
    slots: 2,
    memory: 1.5 * GIB,
    ...part,
  };
}

export function homeView(part: Partial<View> = {}): View {
  return {
    seq: 1,
    time: '2026-11-30T10:00:00.000Z',
    version: '0.1.0',
    home: 'home',
    models: [modelView()],
    instances: [instanceView()],
    requests: [],
    leases: 0,
    queue: 0,
    memory: {
      total: 16 * GIB,
      available: 9 * GIB,
      reserve: 2 * GIB,
      budget: 14 * GIB,
      models: 1.5 * GIB,
      services: null,
    },
    gpus: [],
    problems: [],
    drill: null,
    counters: { requests: 12, failed: 1, failovers: 2 },
    lastDrill: null,
    lastFailover: null,
    ...part,
  };
}

export const OUTAGE: NonNullable<ModelView['outage']> = {
  placement: 'gpu',
  reason: 'out_of_memory',
  detail: null,
  since: '2026-11-30T10:00:00.000Z',
  retryAt: '2026-11-30T10:00:30.000Z',
  probing: false,
};
