import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { FactBody } from '../../app/core/facts.ts';
import type { ModelView, View } from '../../app/core/view.ts';
import { cardState, mainAction, startingOf } from '../../app/web/logic/card.ts';
import { entries, fold } from '../../app/web/logic/events.ts';
import { headline } from '../../app/web/logic/headline.ts';
import { outageStory, STORY_KEPT } from '../../app/web/logic/outage.ts';
import { NO_FILTER, parseRoute, routeHash } from '../../app/web/logic/route.ts';
import { en } from '../../app/web/text/en.ts';
import { createFormat } from '../../app/web/text/format.ts';
import { aModel, anInstance, aView, koreanTime, someFacts } from '../browser/support/views.ts';

const NOW = Date.parse('2026-11-30T14:03:00+09:00');
const format = createFormat('en', 540);
const outage = {
  placement: 'gpu',
  reason: 'out_of_memory',
  detail: null,
  since: koreanTime(NOW - 20_000),
  retryAt: koreanTime(NOW + 40_000),
  probing: false,
} as const;
const onCpu = aModel({ status: 'degraded', placement: 'cpu', outage });

describe('the state of a card', () => {
  const table: [Partial<ModelView>, string, string | null][] = [
    [{ status: 'stopped', placement: 'none' }, 'asleep', 'load'],
    [{ status: 'stopped', placement: 'none', mode: 'off' }, 'off', null],
    [{ status: 'starting', placement: 'none' }, 'starting', 'unload'],
    [{ status: 'ready' }, 'ready', 'unload'],
    [{ status: 'busy' }, 'answering', 'unload'],
    [{ status: 'degraded', placement: 'cpu', outage }, 'fallback', 'unload'],
    // The CPU is out of service, the GPU works: nothing runs elsewhere than it should.
    [{ status: 'degraded', placement: 'gpu', outage: { ...outage, placement: 'cpu' } }, 'ready', 'unload'],
    [{ status: 'draining' }, 'finishing', null],
    [{ status: 'failed', placement: 'none' }, 'failed', 'load'],
  ];
  for (const [fields, state, action] of table) {
    it(`is ${state} for ${JSON.stringify(fields).slice(0, 60)}`, () => {
      const model = aModel(fields);
      assert.equal(cardState(model), state);
      assert.equal(mainAction(model), action);
    });
  }
});

describe('a start', () => {
  const model = aModel({ status: 'starting', placement: 'none', loadSeconds: { gpu: 10 } });
  const started = (seconds: number) =>
    startingOf(
      aView({ instances: [anInstance({ state: 'starting', since: koreanTime(NOW - seconds * 1000) })] }),
      model,
      NOW,
    );
  it('is measured by earlier loads and never claims to be done', () => {
    assert.equal(started(4)?.fraction, 0.4);
    assert.equal(started(60)?.fraction, 0.97);
  });
  it('claims no fraction where no earlier load tells', () => {
    const view = aView({ instances: [anInstance({ state: 'starting', placement: 'cpu' })] });
    assert.equal(startingOf(view, model, NOW)?.fraction, null);
  });
});

describe('the one sentence', () => {
  const said = (view: Partial<View>): string => headline(aView(view), en, format).text;
  it('tells that all is well, and where', () => {
    assert.equal(said({}), 'All is well. chat is ready on the GPU.');
    assert.match(said({ models: [aModel({ status: 'stopped', placement: 'none' })] }), /asleep/);
    assert.match(said({ models: [aModel({ mode: 'off', status: 'stopped' })] }), /switched off/);
  });
  it('tells the worst thing first', () => {
    const failed = aModel({ name: 'b', status: 'failed' });
    const problem = { code: 'broker_failed', text: 'x', fix: 'x' } as const;
    assert.equal(said({ models: [onCpu, failed], problems: [problem] }), 'b has failed.');
    assert.equal(said({ models: [onCpu], problems: [problem] }), 'One thing needs you.');
    assert.equal(said({ models: [onCpu] }), 'chat continues on the CPU. The GPU is tried again at 14:03.');
    assert.equal(said({ models: [], problems: [problem] }), 'One thing needs you.');
    assert.equal(said({ models: [] }), 'There is no model yet.');
  });
  it('does not claim that the CPU answers before it does', () => {
    const none = aModel({ status: 'stopped', placement: 'none', outage });
    assert.equal(said({ models: [none] }), 'chat is not on the GPU for now. It is tried again at 14:03.');
  });
});

describe('the story of a failover', () => {
  const told = (bodies: readonly FactBody[], at = NOW) =>
    someFacts(bodies, at).map((fact) => ({ ...fact, time: koreanTime(at - 10_000) }));
  const failover = {
    type: 'failover',
    model: 'chat',
    placement: 'gpu',
    to: 'cpu',
    requestIds: ['a', 'b'],
    count: 2,
  } as const;
  const steps = (view: View, model: ModelView, bodies: readonly FactBody[]) =>
    outageStory(view, model, told(bodies), NOW)?.steps.map(({ kind, state }) => `${kind} ${state}`);

  it('is none while all is well', () => {
    assert.equal(outageStory(aView(), aModel(), [], NOW), null);
  });
  it('ticks off its steps in order', () => {
    const starting = aView({ instances: [anInstance({ placement: 'cpu', state: 'starting' })] });
    const waiting = aModel({ status: 'starting', placement: 'none', outage });
    const request = {
      id: 'a',
      model: 'chat',
      path: '/v1',
      placement: null,
      attempts: 1,
      since: koreanTime(NOW),
      position: null,
    } as const;
    const later = ['retry next', 'back next'];
    assert.deepEqual(steps(starting, waiting, []), ['stopped done', 'cpu now', ...later]);
    assert.deepEqual(
      steps({ ...starting, requests: [{ ...request, phase: 'loading' }] }, waiting, [failover]),
      ['stopped done', 'cpu now', 'moved now', 'answering next', ...later],
    );
    const cpu = aView({ instances: [anInstance({ placement: 'cpu' })] });
    assert.deepEqual(
      steps({ ...cpu, requests: [{ ...request, phase: 'running', placement: 'cpu' }] }, onCpu, [failover]),
      ['stopped done', 'cpu done', 'moved done', 'answering now', ...later],
    );
    assert.deepEqual(steps(cpu, onCpu, [failover]), [
      'stopped done',
      'cpu done',
      'moved done',
      'answering done',
      ...later,
    ]);
    const probing = { ...onCpu, outage: { ...outage, probing: true } };
    assert.equal(steps(cpu, probing, [failover])?.at(-2), 'retry now');
    assert.deepEqual(
      steps(aView(), aModel(), [failover, { type: 'recovered', model: 'chat', seconds: 30 }]),
      ['stopped done', 'moved done', 'answering done', 'back done'],
    );
  });
  it('counts the requests beyond those that are named', () => {
    const view = aView({ instances: [anInstance({ placement: 'cpu' })] });
    const story = outageStory(view, onCpu, told([{ ...failover, count: 20 }]), NOW);
    const moved = story?.steps.find((step) => step.kind === 'moved');
    assert.equal(moved?.kind === 'moved' && moved.requests, 20);
  });
  it('tells what was lost', () => {
    const story = outageStory(
      aView(),
      onCpu,
      told([{ type: 'failover_failed', model: 'chat', requestIds: ['a'] }]),
      NOW,
    );
    assert.equal(story?.lost, 1);
  });
  it('folds away ten minutes after its end', () => {
    const facts = told([failover, { type: 'recovered', model: 'chat', seconds: 30 }]);
    assert.notEqual(outageStory(aView(), aModel(), facts, NOW), null);
    assert.equal(outageStory(aView(), aModel(), facts, NOW + STORY_KEPT), null);
  });
});

describe('events', () => {
  const facts = someFacts([
    { type: 'failover', model: 'chat', requestId: 'first' },
    { type: 'model_loaded', model: 'tiny' },
    { type: 'recovered', model: 'chat' },
    { type: 'failover', model: 'chat', requestId: 'second' },
  ]);
  it('stand newest first, a recovery with the failover that it ended', () => {
    assert.deepEqual(
      fold(facts).map(({ fact, recovery }) => [fact.seq, recovery?.seq ?? null]),
      [
        [4, null],
        [2, null],
        [1, 3],
      ],
    );
  });
  it('keep a recovery whose failover is not known', () => {
    assert.deepEqual(
      fold(facts.slice(1, 3)).map(({ fact }) => fact.type),
      ['recovered', 'model_loaded'],
    );
  });
  it('are found by model, kind, words and request id', () => {
    const phrase = () => 'Plain words';
    const found = (filter: Partial<typeof NO_FILTER>) =>
      entries(facts, { ...NO_FILTER, ...filter }, phrase).map(({ fact }) => fact.seq);
    assert.deepEqual(found({ model: 'tiny' }), [2]);
    assert.deepEqual(found({ group: 'failover' }), [4, 1]);
    assert.deepEqual(found({ search: 'SECOND' }), [4]);
    assert.deepEqual(found({ search: 'plain' }), [4, 2, 1]);
    assert.deepEqual(found({ search: 'nowhere' }), []);
  });
  it('of a kind that this page does not know are left out', () => {
    const strange = [{ ...facts[0], type: 'something_new' }] as unknown as typeof facts;
    assert.deepEqual(fold(strange), []);
  });
});

describe('routes', () => {
  it('read what they wrote', () => {
    const route = {
      view: 'events',
      filter: { model: '채팅 a&b', group: 'failover', search: '50%?' },
    } as const;
    assert.deepEqual(parseRoute(routeHash(route)), route);
    assert.deepEqual(parseRoute(routeHash({ view: 'connect' })), { view: 'connect' });
  });
  it('are Home where they are unknown', () => {
    for (const hash of ['', '#', '#/', '#/nowhere', '#/events2'])
      assert.deepEqual(parseRoute(hash), { view: 'home' });
    assert.deepEqual(parseRoute('#/events?type=strange'), { view: 'events', filter: NO_FILTER });
  });
});
