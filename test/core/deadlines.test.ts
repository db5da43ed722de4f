/** What comes due by itself, with no input but time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nextDue } from '../../app/core/deadlines.ts';
import { emptyState } from '../../app/core/state.ts';
import { model, policy, profile } from '../support/model.ts';
import { DEAD, makeWorld, RESET } from '../support/world.ts';

const MINUTE = 60_000;

test('nothing, where nothing runs or waits', () => {
  assert.equal(nextDue(emptyState({}), 0), Number.POSITIVE_INFINITY);
});

test('the next try of a request that was not processed', () => {
  const world = makeWorld({ policy: policy([model('chat')]) });
  const id = world.request();
  world.end(id, { kind: 'failed', failure: { kind: 'loading' }, forwarded: 'nothing' });
  assert.equal(world.grantOf(id), undefined);
  world.advance(19);
  assert.equal(world.grantOf(id), undefined);
  world.advance(1);
  assert.equal(world.grantOf(id)?.attempt, 1);
});

test('a request that is not processed is tried later and later, but each second at least', () => {
  for (const kind of ['refused', 'loading'] as const) {
    const running = { ...DEAD, running: true, exitCode: null };
    const world = makeWorld({ policy: policy([model('chat')]), evidence: () => running });
    const id = world.request();
    const began = world.now().mono;
    const waits: number[] = [];
    while (world.now().mono - began < 5_000) {
      world.end(id, { kind: 'failed', failure: { kind }, forwarded: 'nothing' });
      const from = world.now().mono;
      while (world.grantOf(id) === undefined && world.now().mono - from < 5_000) world.advance(1);
      waits.push(world.now().mono - from);
    }
    assert.equal(waits[0], 20);
    assert.deepEqual(
      waits,
      waits.toSorted((a, b) => a - b),
      kind,
    );
    assert.ok(waits.includes(1_000), waits.join());
    assert.equal(waits.at(-1), 1_000);
    assert.equal(world.grantOf(id)?.attempt, 1, 'none of it was an attempt');
    const looks = world.effects.filter(({ type }) => type === 'examine_instance').length;
    assert.equal(looks, kind === 'refused' ? waits.length : 0);
  }
});

test('the end of the wait of a request that nobody can take', () => {
  const world = makeWorld({ policy: policy([model('chat')]), holdStarts: true });
  const id = world.request({ deadlineMs: 5_000 });
  world.advance(4_999);
  assert.equal(world.refusalOf(id), undefined);
  world.advance(1);
  assert.equal(world.refusalOf(id)?.code, 'deadline');
});

test('another estimate of a model file that could not be read', () => {
  const world = makeWorld({ policy: policy([model('chat')]) });
  const problem = { code: 'model_unreadable', text: 'no such file', fix: '' } as const;
  world.submit({ type: 'need_unknown', hash: 'chat-gpu', problem });
  const need = () => world.loop.state.needs.get('chat-gpu')?.kind;
  const due = nextDue(world.loop.state, world.now().mono) - world.now().mono;
  assert.ok(due > 0 && due <= 10 * MINUTE, `in ${due} ms`);
  world.advance(due - 1);
  assert.equal(need(), 'unknown');
  world.advance(1);
  assert.equal(need(), 'known');
});

test('the end of the ten minutes in which a body is refused', () => {
  const world = makeWorld({ policy: policy([model('chat')]) });
  const id = world.request();
  world.end(id, RESET);
  world.end(id, RESET);
  assert.equal(world.refusalOf(id)?.code, 'poison');
  const told = () => [...world.loop.state.problems.values()].some(({ code }) => code === 'poison');
  world.advance(10 * MINUTE - 1);
  assert.equal(world.loop.state.refusedBodies.size, 1);
  assert.equal(told(), true);
  world.advance(1);
  assert.equal(world.loop.state.refusedBodies.size, 0);
  assert.equal(told(), false);
});

test('the idle limit of a warm CPU whose better placement went before it', () => {
  const { gpu, cpu } = { gpu: profile('chat', 'gpu'), cpu: profile('chat', 'cpu', { standby: 'warm' }) };
  const world = makeWorld({
    policy: policy([model('chat', { idleUnloadMs: 10 * MINUTE, profiles: { gpu, cpu } })]),
    holdStarts: true,
  });
  const id = world.request();
  world.finishStart();
  world.end(id);
  world.advance(MINUTE);
  world.finishStart();
  assert.deepEqual(world.placements(), ['gpu', 'cpu']);
  world.advance(9 * MINUTE);
  assert.deepEqual(world.placements(), ['cpu']);
  world.advance(MINUTE);
  assert.deepEqual(world.placements(), []);
});
