/** The end of an attempt, and a client that goes: what is told, what is counted, when it is tried again. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Failure, Forwarded, Outcome } from '../../app/core/request.ts';
import { model, policy } from '../support/model.ts';
import { DEAD, makeWorld, RESET, type World, type WorldOptions } from '../support/world.ts';

const chat = policy([model('chat')]);
const failed = (failure: Failure, forwarded: Forwarded = 'nothing'): Outcome => ({
  kind: 'failed',
  failure,
  forwarded,
});
const HANG = failed({ kind: 'first_token_deadline' });
const REFUSED = failed({ kind: 'refused' });
const REUSED = failed({ kind: 'reset', reused: true });

function running(more: Partial<WorldOptions> = {}): { world: World; id: number; instance: string } {
  const world = makeWorld({ policy: chat, ...more });
  const id = world.request();
  return { world, id, instance: world.grantOf(id)?.instance ?? '' };
}

describe('a client that goes', () => {
  test('when its request was granted a moment ago gives its slot to the next one', () => {
    const { world, id } = running();
    world.request();
    const next = world.request();
    assert.equal(world.grantOf(next), undefined);
    world.submit({ type: 'request_abandoned', request: id });
    assert.ok(world.grantOf(next));
    assert.equal(world.loop.state.counters.failed, 0);
    assert.equal(world.loop.state.models.get('chat')?.serviceMs.gpu, undefined);
  });

  test('when its request has ended means nothing', () => {
    const { world, id } = running();
    world.end(id);
    world.submit({ type: 'request_abandoned', request: id });
    world.end(id);
    assert.equal(world.loop.state.counters.failed, 0);
  });
});

test('an end that is reported of a request that waits means nothing', () => {
  const { world } = running();
  world.request();
  const waits = world.request();
  world.end(waits);
  assert.deepEqual(world.loop.state.waiting, [waits]);
});

test('what is answered, by us or by the backend, counts as no failure', () => {
  const { world, id } = running();
  world.end(id);
  world.end(world.request(), failed({ kind: 'http', status: 400, message: 'no' }));
  assert.equal(world.loop.state.counters.failed, 0);
});

describe('an attempt whose instance is gone by now', () => {
  test('moves on, and its measurements are of no profile', () => {
    for (const outcome of [RESET, HANG]) {
      const { world, id, instance } = running();
      world.submit({ type: 'instance_removed', instance, memoryBack: true });
      const timings = { promptTokens: 100, promptMs: 1000, tokens: 100, tokensMs: 1000 };
      world.submit({ type: 'attempt_ended', request: id, outcome, timings });
      assert.equal(world.grantOf(id)?.placement, 'cpu');
      assert.equal(world.loop.state.speeds.size, 0);
    }
  });
});

test('an answer that does not tell of its prompt cache leaves the share as it was', () => {
  const { world, id } = running();
  const timings = { promptTokens: 100, promptMs: 1000, tokens: 100, tokensMs: 1000 };
  world.submit({ type: 'attempt_ended', request: id, outcome: { kind: 'completed' }, timings });
  assert.deepEqual(world.loop.state.models.get('chat')?.readShare, {});
});

test('of two that hang on one instance each is told of a hang', () => {
  const world = makeWorld({ policy: chat });
  const pair = [world.request(), world.request()];
  for (const id of pair) world.end(id, HANG);
  for (const id of pair) assert.equal(world.grantOf(id)?.reason, 'hang');
});

test('a stale connection to an instance that is to go after its answers is no failure', () => {
  const { world, id, instance } = running();
  world.submit({ type: 'command', id: 1, command: { do: 'unload', model: 'chat' } });
  world.end(id, REUSED);
  const grant = world.grantOf(id);
  assert.deepEqual([grant?.instance, grant?.freshConnection, grant?.attempt], [instance, true, 1]);
});

test('a stale connection to an instance that is out of order was its death', () => {
  const world = makeWorld({ policy: chat });
  const pair = [world.request(), world.request()];
  world.end(pair[0] ?? 0, HANG);
  world.end(pair[1] ?? 0, REUSED);
  assert.equal(world.grantOf(pair[1] ?? 0)?.placement, 'cpu');
});

describe('a request that was not processed', () => {
  const again = (world: World, id: number): number => {
    const before = world.now().mono;
    world.end(id, REFUSED);
    assert.equal(world.grantOf(id), undefined);
    const { phase } = world.loop.state.requests.get(id) ?? {};
    return phase?.phase === 'waiting' ? phase.notBefore - before : Number.NaN;
  };

  test('is tried again after 20 ms, later after half of the time that it has tried, after 1 s at most', () => {
    const { world, id } = running({ evidence: () => ({ ...DEAD, running: true, exitCode: null }) });
    const start = world.now().mono;
    for (const [at, wait] of [
      [0, 20],
      [400, 200],
      [5_000, 1_000],
    ] as const) {
      world.advance(start + at - world.now().mono);
      assert.equal(again(world, id), wait);
      world.advance(wait);
      assert.equal(world.grantOf(id)?.attempt, 1);
    }
  });

  test('has its instance examined where nothing listens, and not where it is loading', () => {
    for (const [failure, examined] of [
      [{ kind: 'refused' }, 1],
      [{ kind: 'loading' }, 0],
    ] as const) {
      const { world, id } = running();
      world.end(id, failed(failure));
      assert.equal(world.effects.filter(({ type }) => type === 'examine_instance').length, examined);
    }
  });
});

describe('an explicit end', () => {
  const table: readonly [Failure, string][] = [
    [{ kind: 'reset', reused: false }, 'closed the connection before the answer was whole'],
    [{ kind: 'first_token_deadline' }, 'did not begin to answer in time'],
    [{ kind: 'stall' }, 'stopped in the middle of the answer'],
    [{ kind: 'frozen' }, 'froze, and gave no sign of life'],
    [{ kind: 'http', status: 401, message: 'Invalid API Key' }, 'answered 401: Invalid API Key'],
    [{ kind: 'not_resumable', why: 'it thinks' }, "can't go on with the text so far: it thinks"],
  ];
  for (const [failure, words] of table) {
    test(`says what the backend did: ${words}`, () => {
      const world = makeWorld({ policy: chat });
      const id = world.request({ neverReplay: true });
      world.end(id, failed(failure));
      assert.equal(world.refusalOf(id)?.message, `The backend of chat ${words}.`);
    });
  }

  test('says how often it was tried', () => {
    const { world, id } = running({ evidence: () => ({ ...DEAD, oomKilled: true }) });
    for (const _ of [1, 2]) world.end(id, HANG);
    assert.match(world.refusalOf(id)?.message ?? '', /in time\. It was tried 2 times\.$/);
  });

  test('after a deadline says which one it was', () => {
    const world = makeWorld({ policy: chat });
    const id = world.request({ deadlineMs: 5_000 });
    world.advance(5_000);
    world.end(id, { kind: 'deadline' });
    assert.equal(world.refusalOf(id)?.message, 'chat gave no content within the deadline of 5000 ms.');
  });

  test('after two deaths that turn out to be excused is that of a stream where it had begun', () => {
    const killed = { ...DEAD, oomKilled: true };
    const { world, id } = running({ holdRemovals: true, evidence: () => killed });
    world.end(id, RESET);
    world.end(id, failed({ kind: 'reset', reused: false }, 'more'));
    assert.equal(world.refusalOf(id), undefined);
    for (const _ of [1, 2]) world.finishRemoval();
    assert.equal(world.refusalOf(id)?.code, 'failed_after_output');
  });
});
