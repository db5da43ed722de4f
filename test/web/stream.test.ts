import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Fact } from '../../app/core/facts.ts';
import { announce, QUIET } from '../../app/web/logic/announce.ts';
import { EMPTY_FEED, type Feed, type FeedMessage, reduceFeed } from '../../app/web/logic/feed.ts';
import { isAway, type Link, reduceLink, retryDelay } from '../../app/web/logic/link.ts';
import { parseSse } from '../../app/web/logic/sse.ts';
import { aView, someFacts } from '../browser/support/views.ts';
import { fc } from '../support/property.ts';

describe('the stream parser', () => {
  const whole =
    'retry: 1000\n\nevent: state\ndata: {"seq":1}\n\n: still here\n\nid: 7\ndata: a\ndata: b\n\nevent: gap\r\ndata: x\r\n\r\n';
  it('reads events, ids, data of several lines and comments', () => {
    assert.deepEqual(parseSse(whole), {
      items: [
        { kind: 'event', event: 'state', data: '{"seq":1}', id: null },
        { kind: 'comment', text: 'still here' },
        { kind: 'event', event: 'message', data: 'a\nb', id: '7' },
        { kind: 'event', event: 'gap', data: 'x', id: null },
      ],
      rest: '',
    });
  });
  it('gives the same however the text is cut', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(whole.length), { maxLength: 8 }), (cuts) => {
        const at = [0, ...cuts.sort((a, b) => a - b), whole.length];
        let rest = '';
        const items = at.slice(1).flatMap((end, i) => {
          const chunk = parseSse(rest + whole.slice(at[i] ?? 0, end));
          rest = chunk.rest;
          return chunk.items;
        });
        assert.deepEqual(items, parseSse(whole).items);
      }),
    );
  });
});

const facts = someFacts(Array.from({ length: 12 }, () => ({ type: 'config_reloaded' }) as const));
const run = (messages: readonly FeedMessage[], from: Feed = EMPTY_FEED): Feed =>
  messages.reduce(reduceFeed, from);
const state = (seq: number): FeedMessage => ({ type: 'state', view: aView({ seq }), at: 1 });
const live = (...told: readonly Fact[]): FeedMessage => ({ type: 'facts', facts: told });
const seqs = (feed: Feed): number[] => feed.facts.map(({ seq }) => seq);

describe('the feed', () => {
  it('asks for the history that its first state tells of', () => {
    assert.equal(run([state(12)]).missingAfter, 0);
    assert.equal(run([state(5000)]).missingAfter, 3000);
    assert.equal(run([state(0)]).missingAfter, null);
  });
  it('holds each fact once and in order, however history and live facts meet', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(11), fc.nat(11)), { maxLength: 6 }), (ranges) => {
        const messages = ranges.map(([a, b], i): FeedMessage => {
          const some = facts.slice(Math.min(a, b), Math.max(a, b) + 1);
          return i % 2 === 0 ? live(...some) : { type: 'history', facts: some };
        });
        const feed = run([...messages, { type: 'history', facts }]);
        assert.deepEqual(
          seqs(feed),
          facts.map(({ seq }) => seq),
        );
      }),
    );
  });
  it('notices a number that is missing and asks after the last one before it', () => {
    const feed = run([live(...facts.slice(0, 3)), live(...facts.slice(6, 8))]);
    assert.equal(feed.missingAfter, 3);
    assert.equal(run([{ type: 'history', facts: facts.slice(3, 8) }], feed).missingAfter, null);
  });
  it('is not troubled by a gap that nobody keeps any more', () => {
    const feed = run([
      live(...facts.slice(0, 3)),
      live(...facts.slice(6, 8)),
      { type: 'history', facts: facts.slice(6, 8) },
    ]);
    assert.equal(feed.missingAfter, null);
    assert.deepEqual(seqs(feed), [1, 2, 3, 7, 8]);
  });
  it('starts anew when the numbers of the server went back', () => {
    const feed = run([live(...facts), { type: 'gap', since: 12 }, live(...facts.slice(0, 2)), state(2)]);
    assert.deepEqual(seqs(feed), []);
    assert.equal(feed.missingAfter, 0);
  });
  it('keeps its facts when a state comes that is a little older than they are', () => {
    const feed = run([state(0), live(...facts), state(2)]);
    assert.equal(feed.facts.length, 12);
  });
  it('keeps its facts through a gap of what is no longer kept', () => {
    const feed = run([
      live(...facts.slice(0, 3)),
      { type: 'gap', since: 3 },
      state(12),
      live(...facts.slice(8)),
    ]);
    assert.deepEqual(seqs(feed), [1, 2, 3, 9, 10, 11, 12]);
  });
});

describe('the link', () => {
  const heard = reduceLink({ kind: 'connecting', since: 0 }, { type: 'heard' }, 1000);
  it('is away only after two seconds without a connection', () => {
    const broken = reduceLink(heard, { type: 'broke' }, 5000);
    assert.equal(isAway(broken, 6900), false);
    assert.equal(isAway(broken, 7000), true);
    assert.equal(isAway(reduceLink(broken, { type: 'heard' }, 8000), 8000), false);
  });
  it('is away at once when nothing was heard for 35 s, not because nothing changed', () => {
    assert.equal(reduceLink(heard, { type: 'tick' }, 36_000).kind, 'live');
    const silent = reduceLink(heard, { type: 'tick' }, 36_001);
    assert.equal(isAway(silent, 36_001), true);
  });
  it('remembers when it was heard last through breaks and pauses', () => {
    const steps: [Parameters<typeof reduceLink>[1], number][] = [
      [{ type: 'broke' }, 2000],
      [{ type: 'broke' }, 3000],
      [{ type: 'hidden' }, 4000],
      [{ type: 'shown' }, 90_000],
    ];
    const end = steps.reduce<Link>((link, [input, at]) => reduceLink(link, input, at), heard);
    assert.deepEqual(end, { kind: 'lost', since: 90_000, heardAt: 1000 });
    assert.equal(isAway(end, 91_000), false);
  });
  it('stays locked while the tab is hidden', () => {
    const locked = reduceLink(heard, { type: 'unauthorized' }, 2000);
    assert.equal(reduceLink(locked, { type: 'hidden' }, 3000).kind, 'locked');
  });
  it('tries again within three seconds, however often it failed', () => {
    assert.deepEqual([0, 1, 2, 3, 4, 60].map(retryDelay), [250, 500, 1000, 2000, 3000, 3000]);
  });
});

describe('announcements', () => {
  it('tell the start of an outage and its end, once each', () => {
    const told = someFacts([
      { type: 'backend_crashed', model: 'chat' },
      { type: 'failover', model: 'chat' },
      { type: 'failover', model: 'chat' },
      { type: 'recovered', model: 'chat' },
    ]);
    let announcer = QUIET;
    const said = told.flatMap((fact) => {
      const next = announce(announcer, [fact]);
      announcer = next.announcer;
      return next.told.map(({ type }) => type);
    });
    assert.deepEqual(said, ['failover', 'recovered']);
  });
});
