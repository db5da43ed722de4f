/** A request arrives: which model it means, whether it is taken, and what is said where it is not. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { decide } from '../../app/core/decide.ts';
import type { NewRequest } from '../../app/core/request.ts';
import { emptyState } from '../../app/core/state.ts';
import { model, policy, profile } from '../support/model.ts';
import { makeWorld, type World } from '../support/world.ts';

const NOW = { mono: 5_000, wall: 9_000 };

/** What a client sends that says nothing but its model. */
function sent(name: string | null): NewRequest {
  const read = { path: '/v1/chat/completions', stream: true, neverReplay: false, promptBytes: 10 };
  return {
    ...read,
    id: 77,
    externalId: 'x77',
    model: name,
    deadlineMs: null,
    client: 'a',
    background: false,
  };
}

const decided = (world: World, name: string | null) =>
  decide(world.loop.state, { type: 'request_received', request: sent(name), body: null }, NOW);

describe('is refused', () => {
  const off = model('chat', { mode: 'off' });
  const long = 'm'.repeat(90);
  const ROWS = [
    [
      'of a home without models',
      [],
      'chat',
      'unknown_model',
      'There is no model "chat". There is no model yet.',
    ],
    [
      'without a name where there is none',
      [],
      null,
      'invalid_request',
      '"model" is missing. There is no model yet.',
    ],
    [
      'without a name where there are two',
      [model('chat'), model('other')],
      null,
      'invalid_request',
      '"model" is missing. There are: chat, other.',
    ],
    [
      'by a name that is cut for the answer',
      [model('chat')],
      long,
      'unknown_model',
      `There is no model "${'m'.repeat(80)}". There are: chat.`,
    ],
    ['while its model is off', [off], 'chat', 'mode_off', 'chat is switched off (mode off).'],
  ] as const;
  for (const [name, models, asked, code, message] of ROWS) {
    test(name, () => {
      const { effects, changes } = decided(makeWorld({ policy: policy(models) }), asked);
      const refusal = { code, message, retryAfter: null };
      assert.deepEqual(effects, [{ type: 'refuse', request: 77, refusal }]);
      assert.deepEqual(changes, []);
    });
  }

  test('before there is a configuration', () => {
    const input = { type: 'request_received', request: sent('chat'), body: null } as const;
    const refusal = { code: 'preparing', message: 'Llamastead is starting.', retryAfter: 2 };
    assert.deepEqual(decide(emptyState(), input, NOW).effects, [{ type: 'refuse', request: 77, refusal }]);
  });

  test('while the controller ends', () => {
    const world = makeWorld({ policy: policy([model('chat')]) });
    world.request();
    world.submit({ type: 'shutdown' });
    const refusal = { code: 'capacity', message: 'Llamastead is shutting down.', retryAfter: 10 };
    assert.deepEqual(decided(world, 'chat').effects, [{ type: 'refuse', request: 77, refusal }]);
  });
});

test('without a name it means the only model', () => {
  const { changes } = decided(makeWorld({ policy: policy([model('chat')]) }), null);
  const [added] = changes;
  assert.equal(added?.type === 'request_added' && added.request.model, 'chat');
});

test('begins with the configured patience, at the end of its line, and without a history', () => {
  const [added] = decided(makeWorld({ policy: policy([model('chat')]) }), 'chat').changes;
  assert.deepEqual(added, {
    type: 'request_added',
    request: {
      id: 77,
      externalId: 'x77',
      model: 'chat',
      path: '/v1/chat/completions',
      stream: true,
      neverReplay: false,
      client: 'a',
      background: false,
      drill: false,
      promptBytes: 10,
      tokens: null,
      counting: 'no',
      receivedAt: 5_000,
      patienceMs: 300_000,
      deadlineAt: 305_000,
      ownDeadline: false,
      ticket: 0,
      phase: { phase: 'waiting', since: 5_000, notBefore: 0, head: false },
      attempts: 0,
      tried: new Set(),
      lastFailure: null,
      sentAgain: false,
      continues: null,
      aloneDeaths: 0,
      suspectOf: null,
    },
  });
});

describe('a line of bounded length', () => {
  const home = (depth: number) =>
    makeWorld({
      policy: policy(
        [model('chat', { profiles: { gpu: profile('chat', 'gpu', { parallel: 1 }) } }), model('other')],
        {
          queue: { depth, deadlineMs: 300_000 },
        },
      ),
    });

  test('says how many wait, where it is full', () => {
    const world = home(2);
    for (let n = 0; n < 3; n += 1) world.request();
    assert.equal(
      world.refusalOf(world.request())?.message,
      '2 requests wait for chat already; no more are taken (queue.depth).',
    );
  });

  test('is full by those of its own model alone', () => {
    const world = home(2);
    for (let n = 0; n < 3; n += 1) world.request();
    for (let n = 0; n < 4; n += 1)
      assert.equal(world.refusalOf(world.request({ model: 'other' })), undefined);
  });

  test('takes what is granted at once, however short it is', () => {
    const world = home(1);
    world.end(world.request());
    const none = policy([model('chat')], { queue: { depth: 0, deadlineMs: 300_000 } });
    world.submit({ type: 'configured', policy: none, why: 'reload' });
    assert.ok(world.grantOf(world.request()));
  });
});
