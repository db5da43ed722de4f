/** What the core makes of text that was forwarded before its instance failed. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Failure, Outcome } from '../../app/core/request.ts';
import type { Policy } from '../../app/core/types.ts';
import { model, policy, profile } from '../support/model.ts';
import { DEAD, makeWorld, type World } from '../support/world.ts';

const RESET: Failure = { kind: 'reset', reused: false };
const failed = (failure: Failure): Outcome => ({ kind: 'failed', failure, forwarded: 'content' });

/** The CPU has a smaller file of its own. */
const twoFiles = model('chat', {
  profiles: { gpu: profile('chat', 'gpu'), cpu: profile('chat', 'cpu', { file: 'small.gguf' }) },
});
const withResume = (resume: Policy['failover']['resume'], ...models: Parameters<typeof policy>[0]) =>
  policy(models, { failover: { resume, returnAfterMs: 30_000 } });

/** A request whose first instance failed in the middle of plain text. */
function cut(world: World, more: Parameters<World['request']>[0] = {}): number {
  const id = world.request(more);
  world.end(id, failed(RESET));
  return id;
}

describe('plain text that was forwarded', () => {
  test('goes on at another placement, as the second attempt of the same request', () => {
    const world = makeWorld({ policy: withResume('same-file', model('chat')) });
    const id = cut(world);
    assert.equal(world.grantOf(id)?.placement, 'cpu');
    assert.equal(world.grantOf(id)?.attempt, 2);
    assert.equal(world.grantOf(id)?.reason, 'reset');
    const failover = world.facts.find((fact) => fact.type === 'failover');
    assert.deepEqual(failover?.requestIds, [`x${id}`]);
  });

  test('is not continued with resume: never', () => {
    const world = makeWorld({ policy: withResume('never', model('chat')) });
    assert.equal(world.refusalOf(cut(world))?.code, 'failed_after_output');
  });

  test('is not continued with Llamastead-Replay: never', () => {
    const world = makeWorld({ policy: withResume('any', model('chat')) });
    assert.equal(world.refusalOf(cut(world, { neverReplay: true }))?.code, 'failed_after_output');
  });

  test('is not continued by another model file, unless that is allowed', () => {
    const strict = makeWorld({ policy: withResume('same-file', twoFiles) });
    assert.equal(strict.refusalOf(cut(strict))?.code, 'failed_after_output');
    const lenient = makeWorld({ policy: withResume('any', twoFiles) });
    assert.equal(lenient.grantOf(cut(lenient))?.placement, 'cpu');
  });

  test('passes over a better placement with another file', () => {
    const three = model('chat', {
      placements: ['gpu', 'cpu', 'split'],
      profiles: { ...twoFiles.profiles, split: profile('chat', 'split') },
    });
    const strict = makeWorld({ policy: withResume('same-file', three) });
    assert.equal(strict.grantOf(cut(strict))?.placement, 'split');
    const lenient = makeWorld({ policy: withResume('any', three) });
    assert.equal(lenient.grantOf(cut(lenient))?.placement, 'cpu');
  });

  test('waits for the only placement to come back', () => {
    const only = model('chat', { placements: ['gpu'], profiles: { gpu: profile('chat', 'gpu') } });
    const world = makeWorld({ policy: withResume('same-file', only) });
    const id = cut(world);
    assert.equal(world.grantOf(id), undefined);
    world.advance(30_000);
    assert.equal(world.grantOf(id)?.placement, 'gpu');
    assert.equal(world.grantOf(id)?.attempt, 2);
  });

  test('ends with failed_after_output where no placement can be had', () => {
    const world = makeWorld({
      policy: withResume('same-file', model('chat')),
      startFails: ({ profile }) =>
        profile.placement === 'cpu' ? { ...DEAD, log: ['error loading model'] } : null,
    });
    const id = cut(world, { deadlineMs: 5_000 });
    assert.equal(world.refusalOf(id)?.code, 'failed_after_output');
    assert.equal(world.refusalOf(id)?.retryAfter, null);
  });
});

test('text of a model that the configuration has no longer ends with failed_after_output', () => {
  const world = makeWorld({ policy: withResume('same-file', model('chat')) });
  const id = world.request();
  world.submit({ type: 'configured', policy: withResume('same-file', model('other')), why: 'reload' });
  assert.equal(world.grantOf(id)?.placement, 'gpu', 'what runs may finish');
  world.end(id, failed(RESET));
  assert.equal(world.refusalOf(id)?.code, 'failed_after_output');
});

describe('a resume that fails', () => {
  const again = (failure: Failure, killedOutside = true) => {
    const evidence = () => ({ ...DEAD, killedOutside });
    const world = makeWorld({ policy: withResume('same-file', model('chat')), evidence });
    const id = cut(world);
    world.end(id, failed(failure));
    return { world, refusal: world.refusalOf(id), id };
  };

  test('by a second death has no third attempt', () => {
    const { refusal, world } = again(RESET);
    assert.equal(refusal?.code, 'failed_after_output');
    const told = world.facts.find((fact) => fact.type === 'failover_failed');
    assert.equal(told?.code, 'failed_after_output');
    assert.equal(told?.attempts, 2);
  });

  test('by a second death of its own doing is poison', () => {
    assert.equal(again(RESET, false).refusal?.code, 'poison');
  });

  test('for its text says why, and leaves the instance in service', () => {
    const { refusal, world } = again({ kind: 'not_resumable', why: 'it holds special tokens.' });
    assert.equal(refusal?.code, 'failed_after_output');
    assert.match(refusal?.message ?? '', /it holds special tokens/);
    const next = world.request();
    assert.equal(world.grantOf(next)?.placement, 'cpu');
  });

  test('by an error answer of the instance is an error of ours, and leaves the instance in service', () => {
    const { refusal, world } = again({ kind: 'http', status: 400, message: 'exceed_context_size' });
    assert.equal(refusal?.code, 'failed_after_output');
    assert.match(refusal?.message ?? '', /exceed_context_size/);
    assert.equal(world.grantOf(world.request())?.placement, 'cpu');
  });

  test('by a refused connection was not processed: it waits and counts as no attempt', () => {
    const { refusal, world, id } = again({ kind: 'refused' });
    assert.equal(refusal, undefined);
    assert.equal(world.grantOf(id), undefined);
    assert.equal(world.loop.state.requests.get(id)?.attempts, 1);
    world.advance(30_000);
    assert.equal(world.grantOf(id)?.attempt, 2);
  });
});
