/** The line of a model: whose turn it is, who makes room, and what a caller is told of it. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { evolve } from '../../app/core/evolve.ts';
import { queueOrder, queuePosition } from '../../app/core/queue.ts';
import type { Model } from '../../app/core/types.ts';
import { model, policy, profile } from '../support/model.ts';
import { fc } from '../support/property.ts';
import { makeWorld, RESET, type World } from '../support/world.ts';

const NOW = { mono: 0, wall: 0 };

/** A model with so many slots on each placement. */
function slots(parallel: number): Model {
  const on = (placement: 'gpu' | 'cpu') => profile('chat', placement, { parallel });
  return model('chat', { profiles: { gpu: on('gpu'), cpu: on('cpu') } });
}

function home(parallel = 1, depth = 100): World {
  return makeWorld({ policy: policy([slots(parallel)], { queue: { depth, deadlineMs: 300_000 } }) });
}

const running = (world: World) =>
  [...world.loop.state.requests.values()].filter(({ phase }) => phase.phase === 'running');

/** Ends what runs, oldest first, until nothing waits; the ids in the order of their grants. */
function drain(world: World): number[] {
  const granted = new Set(running(world).map(({ id }) => id));
  while (world.loop.state.waiting.length > 0) {
    const [oldest] = running(world);
    assert.ok(oldest, 'somebody runs while others wait');
    world.end(oldest.id);
    for (const { id } of running(world)) granted.add(id);
  }
  return [...granted];
}

describe('clients take turns', () => {
  test('one with 30 requests waiting delays another one by one grant at most', () => {
    for (const parallel of [1, 2, 4]) {
      const world = home(parallel);
      const many = Array.from({ length: 30 }, () => world.request({ client: 'many' }));
      const one = world.request({ client: 'one' });
      const order = drain(world);
      const before = order.slice(parallel, order.indexOf(one)).filter((id) => many.includes(id));
      assert.ok(before.length <= 1, `${before.length} went first with ${parallel} slots`);
    }
  });

  test('the one with fewer running requests is next', () => {
    const world = home(3);
    const [a] = [1, 2, 3].map(() => world.request({ client: 'a' }));
    world.request({ client: 'a' });
    const b = world.request({ client: 'b' });
    world.end(a ?? 0);
    assert.ok(world.grantOf(b));
  });

  test("two clients with many requests alternate, from the second one's arrival on", () => {
    const world = home();
    const names = new Map<number, string>();
    for (const client of ['a', 'b']) {
      for (let n = 0; n < 4; n += 1) names.set(world.request({ client }), client);
    }
    assert.equal(
      drain(world)
        .map((id) => names.get(id))
        .join(''),
      'aabababb',
    );
  });

  test('newcomers without end starve nobody: they line up behind', () => {
    const world = home();
    world.request({ client: 'old' });
    world.request({ client: 'old' });
    const last = world.request({ client: 'old' });
    let turns = 0;
    while (world.grantOf(last) === undefined) {
      world.request({ client: `new ${turns}` });
      world.request({ client: `newer ${turns}` });
      const [runs] = running(world);
      world.end(runs?.id ?? 0);
      turns += 1;
      assert.ok(turns < 12, 'a client waits for one turn of each other client at most');
    }
  });

  test('a replayed request stays at the head, whoever else waits', () => {
    const world = home();
    const moved = world.request({ client: 'many' });
    for (let n = 0; n < 5; n += 1) world.request({ client: n % 2 === 0 ? 'many' : 'one' });
    world.end(moved, RESET);
    assert.equal(world.grantOf(moved)?.placement, 'cpu');
  });

  test('models do not wait for one another', () => {
    const other = model('other');
    const world = makeWorld({ policy: policy([slots(1), other]) });
    for (let n = 0; n < 5; n += 1) world.request({ client: 'a' });
    assert.ok(world.grantOf(world.request({ model: 'other', client: 'a' })));
  });
});

describe('background work', () => {
  test('stands behind chat, also behind a later one', () => {
    const world = home();
    world.request();
    const title = world.request({ background: true });
    const chat = world.request();
    assert.deepEqual(drain(world).slice(1), [chat, title]);
  });

  test('counts like chat when half of its time is over', () => {
    const world = home();
    const first = world.request();
    const title = world.request({ background: true });
    world.advance(150_000);
    const chat = world.request();
    world.end(first);
    assert.ok(world.grantOf(title));
    assert.equal(world.grantOf(chat), undefined);
  });
});

describe('a full line', () => {
  test('refuses the newcomer, with a time to come back', () => {
    const world = home(1, 2);
    for (let n = 0; n < 3; n += 1) world.request();
    const refused = world.refusalOf(world.request());
    assert.equal(refused?.code, 'queue_full');
    assert.ok((refused?.retryAfter ?? 0) >= 1 && (refused?.retryAfter ?? 0) <= 300);
  });

  test('of one client gives its newest place to another client', () => {
    const world = home(1, 4);
    const many = Array.from({ length: 5 }, () => world.request({ client: 'many' }));
    const one = world.request({ client: 'one' });
    assert.equal(world.refusalOf(one), undefined);
    assert.equal(world.refusalOf(many.at(-1) ?? 0)?.code, 'queue_full');
    assert.equal(world.loop.state.waiting.length, 4);
  });

  test('of background work makes room for a chat', () => {
    const world = home(1, 2);
    world.request();
    const titles = [world.request({ background: true }), world.request({ background: true })];
    const chat = world.request();
    assert.equal(world.refusalOf(chat), undefined);
    assert.equal(world.refusalOf(titles[1] ?? 0)?.code, 'queue_full');
    assert.equal(world.refusalOf(titles[0] ?? 0), undefined);
  });

  test('never gives up a request that had its turn', () => {
    const world = makeWorld({
      policy: policy([slots(1)], { queue: { depth: 1, deadlineMs: 300_000 } }),
      holdStarts: true,
    });
    const moved = world.request({ client: 'a' });
    world.finishStart();
    world.end(moved, RESET);
    const newcomer = world.request({ client: 'b' });
    assert.equal(world.refusalOf(moved), undefined);
    assert.equal(world.refusalOf(newcomer)?.code, 'queue_full');
  });
});

describe('Retry-After', () => {
  /** One slot, one request after the other, each taking so long. */
  function learned(...durations: readonly number[]): World {
    const world = home(1, 3);
    for (const ms of durations) {
      const id = world.request();
      world.advance(ms);
      world.end(id);
    }
    for (let n = 0; n < 4; n += 1) world.request();
    return world;
  }
  const retryAfter = (world: World) => world.refusalOf(world.request())?.retryAfter;

  test('is the wait that measured service times let expect', () => {
    // Three wait; the fourth would be served after four services of 10 s on one slot.
    assert.equal(retryAfter(learned(10_000)), 40);
  });

  test('follows the service times as a moving average', () => {
    // 10 + 0.3 (20 - 10) = 13 s a service.
    assert.equal(retryAfter(learned(10_000, 20_000)), 52);
  });

  test('is from 1 to 300 s', () => {
    assert.equal(retryAfter(learned(1)), 1);
    assert.equal(retryAfter(learned(900_000)), 300);
  });

  test('does not count what the client cut short', () => {
    const world = home(1, 3);
    const id = world.request();
    world.advance(100);
    world.end(id, { kind: 'client_gone', finished: false });
    assert.deepEqual(world.loop.state.models.get('chat')?.serviceMs, {});
  });
});

type Move =
  | { readonly do: 'come'; readonly client: number; readonly background: boolean }
  | { readonly do: 'end' };
const moves: fc.Arbitrary<Move> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('come'), client: fc.nat(4), background: fc.boolean() }),
  },
  { weight: 2, arbitrary: fc.constant<Move>({ do: 'end' }) },
);

function play(world: World, sequence: readonly Move[]): void {
  for (const move of sequence) {
    if (move.do === 'come') world.request({ client: `c${move.client}`, background: move.background });
    else world.end(running(world)[0]?.id ?? 0);
  }
}

test('whatever came before, positions are the order in which the waiting are granted', () => {
  fc.assert(
    fc.property(fc.array(moves, { maxLength: 60 }), fc.integer({ min: 1, max: 3 }), (sequence, parallel) => {
      const world = home(parallel);
      play(world, sequence);
      const state = structuredClone(world.loop.state);
      const foretold = queueOrder(state, 'chat', NOW).map(({ id }) => id);
      for (const [index, id] of foretold.entries()) assert.equal(queuePosition(state, id, NOW), index + 1);
      const [instance] = state.instances.keys();
      for (const id of foretold) {
        assert.equal(queueOrder(state, 'chat', NOW)[0]?.id, id);
        const to = { instance: instance ?? '', placement: 'gpu', at: 0, wall: 0 } as const;
        evolve(state, { type: 'request_granted', request: id, ...to });
      }
      assert.deepEqual(state.waiting, []);
    }),
  );
});

test('no chat waits for more turns of another client than it has requests before it, and one', () => {
  fc.assert(
    fc.property(fc.array(moves, { maxLength: 60 }), fc.integer({ min: 1, max: 3 }), (sequence, parallel) => {
      const world = home(parallel);
      play(world, sequence);
      const mine = world.request({ client: 'mine' });
      const served = new Map<string, number>();
      while (world.loop.state.waiting.includes(mine)) {
        const before = new Set(running(world).map(({ id }) => id));
        world.end(running(world)[0]?.id ?? 0);
        for (const { id, client } of running(world)) {
          if (!before.has(id) && id !== mine) served.set(client, (served.get(client) ?? 0) + 1);
        }
      }
      for (const [client, turns] of served) assert.ok(turns <= 1, `${client} had ${turns} turns first`);
    }),
  );
});
