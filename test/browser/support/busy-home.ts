/** A home with everything at once: an outage, a failure, a start, sleep, problems, requests, events. */
import type { Fact } from '../../../app/core/facts.ts';
import type { View } from '../../../app/core/view.ts';
import { aModel, anInstance, GIB, koreanTime, someFacts } from './views.ts';

export function busyHome(now = Date.now()): Partial<View> {
  return {
    models: [
      aModel({
        status: 'degraded',
        placement: 'cpu',
        outage: {
          placement: 'gpu',
          reason: 'out_of_memory',
          detail: null,
          since: koreanTime(now - 20_000),
          retryAt: koreanTime(now + 600_000),
          probing: false,
        },
        tokensPerSecond: { cpu: { prompt: 1234.5, generation: 8.2 } },
        answerTokens: 1180,
      }),
      aModel({ name: 'embed', task: 'embedding', status: 'starting', placement: 'none' }),
      aModel({
        name: 'a-model-with-a-very-long-name-q4-k-m',
        status: 'failed',
        placement: 'none',
        lastError: 'exit 1',
      }),
      aModel({ name: 'tiny', status: 'stopped', placement: 'none', mode: 'off' }),
    ],
    instances: [
      anInstance({ placement: 'cpu', leases: 1 }),
      anInstance({ model: 'embed', state: 'starting', measured: null, since: koreanTime(now), memory: GIB }),
    ],
    requests: [
      {
        id: 'a',
        model: 'chat',
        path: '/v1/chat/completions',
        phase: 'running',
        placement: 'cpu',
        attempts: 2,
        position: null,
        since: koreanTime(now),
      },
    ],
    problems: [
      {
        code: 'image_missing',
        text: 'The image is not there.',
        fix: 'Pull it.',
        params: { image: 'ghcr.io/x/y:server-cuda' },
      },
    ],
  };
}

export function busyHistory(): readonly Fact[] {
  return someFacts([
    {
      type: 'failover',
      model: 'chat',
      placement: 'gpu',
      to: 'cpu',
      reason: 'out_of_memory',
      requestIds: ['a'],
    },
    { type: 'load_failed', model: 'embed', placement: 'gpu', reason: 'device_missing', detail: 'no device' },
    { type: 'model_loaded', model: 'chat', placement: 'cpu', seconds: 6.3, bytes: GIB },
  ]);
}

export const VIEWS = ['home', 'events', 'connect', 'checkup'] as const;
