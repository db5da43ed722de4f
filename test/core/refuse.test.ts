/** Explicit ends: which are told as a failure, and in which words the memory that lacks is named. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { noDecision } from '../../app/core/changes.ts';
import { refusal, refuseRequest, tooBig } from '../../app/core/refuse.ts';
import type { RefusalCode, Request } from '../../app/core/request.ts';
import { GIB, model, policy } from '../support/model.ts';
import { makeWorld } from '../support/world.ts';

function waiting(more: Partial<Request> = {}): Request {
  const world = makeWorld({ policy: policy([model('chat')]), holdStarts: true });
  const request = world.loop.state.requests.get(world.request());
  assert.ok(request);
  return { ...request, ...more };
}

function ended(request: Request, code: RefusalCode) {
  const out = noDecision();
  refuseRequest(out, request, refusal(code, 'It ended.', 5));
  return out;
}

describe('an end', () => {
  const TOLD = ['backend_failed', 'failed_after_output', 'poison', 'deadline'] as const;
  const NOT = [
    'invalid_request',
    'unknown_model',
    'queue_full',
    'capacity',
    'preparing',
    'mode_off',
    'context_exceeded',
  ] as const;

  test('is told where a backend was at fault, and is not where the client or the home was', () => {
    for (const code of [...TOLD, ...NOT]) {
      const { facts, effects, changes } = ended(waiting(), code);
      const fact = {
        type: 'request_failed',
        model: 'chat',
        requestId: 'x1',
        code,
        attempts: 0,
        detail: 'It ended.',
      };
      assert.deepEqual(facts, TOLD.some((one) => one === code) ? [fact] : []);
      assert.deepEqual(effects, [
        { type: 'refuse', request: 1, refusal: { code, message: 'It ended.', retryAfter: 5 } },
      ]);
      assert.deepEqual(changes, [{ type: 'request_closed', request: 1, answered: false }]);
    }
  });

  test('is that of a failover where a placement had failed it and another one had it too', () => {
    const ROWS = [
      [[], 0, 'request_failed'],
      [[], 2, 'request_failed'],
      [['gpu'], 1, 'request_failed'],
      [['gpu'], 2, 'failover_failed'],
    ] as const;
    for (const [tried, attempts, type] of ROWS) {
      const { facts } = ended(waiting({ tried: new Set(tried), attempts }), 'backend_failed');
      assert.deepEqual([facts[0]?.type, facts[0]?.attempts], [type, attempts]);
    }
  });

  test('names the reason of the last failure, where there was one', () => {
    assert.equal(ended(waiting({ lastFailure: 'gpu_lost' }), 'deadline').facts[0]?.reason, 'gpu_lost');
  });

  test('after output is that, whatever it was, but for poison', () => {
    const begun = () => waiting({ continues: { file: null } });
    const after = { code: 'failed_after_output', message: 'It ended.', retryAfter: null };
    for (const code of ['capacity', 'backend_failed'] as const) {
      const [effect] = ended(begun(), code).effects;
      assert.deepEqual(effect, { type: 'refuse', request: 1, refusal: after });
    }
    const [effect] = ended(begun(), 'poison').effects;
    assert.equal(effect?.type === 'refuse' && effect.refusal.code, 'poison');
  });
});

test('what a model lacks is named with what it needs', () => {
  const says = (by: 'available' | 'budget' | 'vram') =>
    tooBig('chat', { fits: false, need: 3 * GIB, room: 1.25 * GIB, by });
  assert.equal(
    says('available'),
    'chat needs 3.0 GiB, but only 1.3 GiB of RAM is free beside the reserve for the NAS.',
  );
  assert.equal(
    says('budget'),
    'chat needs 3.0 GiB, but only 1.3 GiB is left of the memory that models may take.',
  );
  assert.equal(says('vram'), 'chat needs 3.0 GiB, but only 1.3 GiB of GPU memory is free.');
});
