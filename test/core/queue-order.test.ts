/** Lines that are made by hand: the order of each, and who makes room in it. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { givesWay, queueOrder, queuePosition, queuePositions } from '../../app/core/queue.ts';
import type { Request } from '../../app/core/request.ts';
import type { State } from '../../app/core/state.ts';
import { model, policy, profile } from '../support/model.ts';
import { makeWorld } from '../support/world.ts';

const NOW = { mono: 0, wall: 0 };

interface Waiting {
  readonly client: string;
  readonly id?: number;
  readonly head?: boolean;
  readonly background?: boolean;
  readonly drill?: boolean;
  readonly model?: string;
}

/** Requests of these clients run; those wait, in this order, with tickets in the same one. */
function line(running: readonly string[], waiting: readonly Waiting[]): State {
  const gpu = profile('chat', 'gpu', { parallel: 8 });
  const world = makeWorld({ policy: policy([model('chat', { profiles: { gpu } }), model('other')]) });
  const template = world.request({ client: 'template' });
  for (const client of running) world.request({ client });
  const state = structuredClone(world.loop.state);
  const like = state.requests.get(template);
  assert.ok(like);
  state.requests.delete(template);
  for (const instance of state.instances.values()) instance.leases.delete(template);
  for (const [index, one] of waiting.entries()) {
    const { head = false, id = 101 + index, background = false, drill = false, model: name = 'chat' } = one;
    const phase = { phase: 'waiting', since: 0, notBefore: 0, head } as const;
    const { client } = one;
    const request = { ...like, id, client, background, drill, model: name, ticket: index + 1, phase };
    state.requests.set(id, request as Request);
    state.waiting.push(id);
  }
  return state;
}

const ids = (state: State) => queueOrder(state, 'chat', NOW).map(({ id }) => id);

describe('the order of a line', () => {
  const a = { client: 'a' };
  const b = { client: 'b' };
  const ROWS: readonly [string, readonly string[], readonly Waiting[], readonly number[]][] = [
    ['of nobody', [], [], []],
    ['of another model is its own', [], [{ client: 'a', model: 'other' }, b], [102]],
    ['of one client is as they came', ['a'], [a, a, a], [101, 102, 103]],
    [
      'has at its head those that came first, however they came back',
      [],
      [{ ...a, id: 9, head: true }, { ...b, id: 8, head: true }, a],
      [8, 9, 103],
    ],
    ['counts a turn at the head as one that runs', [], [{ ...a, head: true }, a, b], [101, 103, 102]],
    [
      'puts who had its turn at the head after its equal that had none',
      ['b'],
      [{ ...a, head: true }, a, b],
      [101, 103, 102],
    ],
    ['lets who has fewest running catch up first', ['b', 'b'], [b, a, a, a], [102, 103, 101, 104]],
    [
      'of one client has its head, its chat and its background work in this order',
      [],
      [{ ...a, background: true }, a, { ...a, head: true }],
      [103, 102, 101],
    ],
    [
      'lets chat pass background work of any client',
      ['a', 'a'],
      [{ ...b, background: true }, a, b],
      [103, 102, 101],
    ],
    [
      'lets background work take turns after those of chat, last turn first served',
      [],
      [a, b, { ...b, background: true }, { ...a, background: true }],
      [101, 102, 104, 103],
    ],
  ];
  for (const [name, running, waiting, order] of ROWS) {
    test(name, () => {
      const state = line(running, waiting);
      assert.deepEqual(ids(state), order);
      assert.deepEqual(
        [...queuePositions(state, 'chat', NOW)],
        order.map((id, index) => [id, index + 1]),
      );
    });
  }
});

test('a request that runs, or is none, has no place in a line', () => {
  const state = line(['a'], []);
  const [runs] = state.requests.keys();
  assert.equal(queuePosition(state, runs ?? 0, NOW), null);
  assert.equal(queuePosition(state, 999, NOW), null);
});

describe('in a full line room is made', () => {
  const a = { client: 'a' };
  const b = { client: 'b' };
  const behind = { background: true };
  const HEAD = { head: true };
  /** Two of `b` run, so those of `a` that wait are next. */
  const ROWS: readonly [string, readonly Waiting[], Waiting, number | null][] = [
    [
      'by the last background work, for a chat',
      [
        { ...a, ...behind },
        { ...a, ...behind },
        { ...a, ...behind },
      ],
      b,
      103,
    ],
    ['by no background work for other background work', [{ ...a, ...behind }], { ...b, ...behind }, null],
    ['by who has two more than the newcomer', [a, a], b, 102],
    ['not by who has one more', [a, a, b], b, null],
    ['by the newest of who has most, though another one is last', [a, a, b], { client: 'c' }, 102],
    [
      'not by those who had their turn',
      [
        { ...a, ...HEAD },
        { ...a, ...HEAD },
      ],
      b,
      null,
    ],
    ['not by background work that had its turn', [{ ...a, ...behind, ...HEAD }], b, null],
    [
      "not by a drill's",
      [
        { ...a, drill: true },
        { ...a, drill: true },
      ],
      b,
      null,
    ],
    ['by nobody where nobody waits', [], b, null],
  ];
  for (const [name, waiting, { client, background = false }, id] of ROWS) {
    test(name, () => {
      const arrived = { model: 'chat', client, background };
      assert.equal(givesWay(line(['b', 'b'], waiting), arrived, NOW)?.id ?? null, id);
    });
  }
});
