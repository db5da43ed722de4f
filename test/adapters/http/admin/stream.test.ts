import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { ask, errorOf, OPEN, startEdge } from '../../../support/edge.ts';
import { homeView, memoryLog, modelView, recordingGate } from '../../../support/edge-fakes.ts';
import { type Frame, readEvents } from '../../../support/event-source.ts';
import { until } from '../../../support/until.ts';

const STREAM = '/admin/events/stream';

/** Bytes in use once everything unreachable is gone. */
function liveHeap(): number {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  return process.memoryUsage().heapUsed;
}

function ids(frames: readonly Frame[]): number[] {
  return frames.flatMap((frame) => (frame.id === null ? [] : [Number(frame.id)]));
}

function states(frames: readonly Frame[]): Frame[] {
  return frames.filter((frame) => frame.event === 'state');
}

test('a new reader gets the state first, without an id, then each fact as it comes', async (t) => {
  const { port, events } = await startEdge(t);
  events.append({ type: 'model_loading', model: 'chat' });
  const reader = await readEvents(port, STREAM);
  const [, state] = await reader.until((frames) => states(frames).length === 1);
  assert.equal(state?.id, null);
  assert.equal(JSON.parse(state?.data ?? '').version, '0.1.0');
  events.append({ type: 'model_loaded', model: 'chat', placement: 'gpu' });
  const frames = await reader.until((all) => ids(all).length === 1);
  assert.deepEqual(ids(frames), [2]);
  assert.deepEqual(JSON.parse(frames.at(-1)?.data ?? ''), {
    v: 1,
    seq: 2,
    time: '2026-11-30T12:00:00.000Z',
    type: 'model_loaded',
    model: 'chat',
    placement: 'gpu',
  });
  reader.close();
});

test('a reader that reconnects gets every fact once, by Last-Event-ID before ?since', async (t) => {
  const { port, events } = await startEdge(t);
  for (let i = 0; i < 5; i++) events.append({ type: 'failover', model: 'chat' });
  const first = await readEvents(port, `${STREAM}?since=1`);
  await first.until((frames) => ids(frames).length === 4);
  first.close();
  for (let i = 0; i < 300; i++) events.append({ type: 'recovered', model: 'chat' });
  const second = await readEvents(port, `${STREAM}?since=1`, { 'last-event-id': '5' });
  for (let i = 0; i < 5; i++) events.append({ type: 'failover', model: 'chat' });
  const frames = await second.until((all) => ids(all).length >= 305);
  const seen = [...ids(first.frames), ...ids(frames)];
  assert.deepEqual(
    seen,
    Array.from({ length: 309 }, (_, i) => i + 2),
  );
  second.close();
});

test('a reader whose facts are no longer kept is told of the gap and gets the rest and a fresh state', async (t) => {
  const events = memoryLog(3);
  const { port } = await startEdge(t, { events });
  for (let i = 0; i < 10; i++) events.append({ type: 'failover' });
  const reader = await readEvents(port, `${STREAM}?since=2`);
  const frames = await reader.until((all) => ids(all).length === 3 && states(all).length === 2);
  assert.deepEqual(
    frames.filter((frame) => frame.event === 'gap').map((frame) => JSON.parse(frame.data)),
    [{ since: 2 }],
  );
  assert.deepEqual(ids(frames), [8, 9, 10]);
  reader.close();
});

test('a reader that knows numbers the log never gave is told of a gap, then all that is kept', async (t) => {
  const { port, events } = await startEdge(t);
  events.append({ type: 'failover' });
  const reader = await readEvents(port, `${STREAM}?since=4000`);
  await reader.until((all) => all.some((frame) => frame.event === 'gap') && states(all).length > 0);
  events.append({ type: 'recovered' });
  assert.deepEqual(ids(await reader.until((all) => ids(all).length > 1)), [1, 2]);
  reader.close();
});

test('a gap with nothing kept behind it is told once', async (t) => {
  const events = memoryLog(10, 500);
  const { port } = await startEdge(t, { events });
  const reader = await readEvents(port, `${STREAM}?since=7`);
  await reader.until((all) => states(all).length === 2);
  events.append({ type: 'recovered' });
  const frames = await reader.until((all) => ids(all).length > 0);
  assert.equal(frames.filter((frame) => frame.event === 'gap').length, 1);
  assert.deepEqual(ids(frames), [501]);
  reader.close();
});

test('the state that a reader gets is never older than the facts told before', async (t) => {
  const { port, gate, events } = await startEdge(t);
  const first = await readEvents(port, STREAM);
  await first.until((all) => states(all).length === 1);
  let newest = 0;
  const numbered = recordingGate(homeView());
  gate.view = () => ({ ...numbered.view(), seq: newest });
  newest = events.append({ type: 'failover' }).seq;
  await first.until((all) => ids(all).length === 1);
  const second = await readEvents(port, `${STREAM}?since=1`);
  const frames = await second.until((all) => states(all).length === 1);
  assert.equal(JSON.parse(states(frames)[0]?.data ?? '').seq, 1);
  first.close();
  second.close();
});

test('a changed status is told at once, changed numbers at most once a second', async (t) => {
  const { port, gate, clock } = await startEdge(t);
  const reader = await readEvents(port, STREAM);
  await reader.until((all) => states(all).length === 1);
  clock.advance(5_000);
  gate.show({ models: [modelView({ status: 'starting' })] });
  await reader.until((all) => states(all).length === 2);
  gate.show({ queue: 1 });
  gate.show({ queue: 2 });
  clock.advance(999);
  gate.show({ queue: 3 });
  assert.equal(states(reader.frames).length, 2);
  clock.advance(1);
  const frames = await reader.until((all) => states(all).length === 3);
  assert.equal(JSON.parse(states(frames)[2]?.data ?? '').queue, 3);
  reader.close();
});

test('under a storm of changes the view is made at most ten times a second', async (t) => {
  const { port, gate, clock } = await startEdge(t);
  const reader = await readEvents(port, STREAM);
  await reader.until((all) => states(all).length === 1);
  const before = gate.views();
  const statuses = ['ready', 'busy', 'starting'] as const;
  for (let i = 0; i < 1_000; i++) {
    gate.show({ models: [modelView({ status: statuses[i % 3] ?? 'ready' })] });
    clock.advance(1);
  }
  // One look and one text each.
  assert.ok(gate.views() - before <= 22, `${gate.views() - before} views`);
  await reader.until((all) => states(all).length >= 5);
  reader.close();
});

test('every 15 s of silence a comment keeps the connection alive', async (t) => {
  const { port, clock } = await startEdge(t);
  const reader = await readEvents(port, STREAM);
  await reader.until((all) => states(all).length === 1);
  clock.advance(15_000);
  clock.advance(15_000);
  const frames = await reader.until((all) => all.filter((frame) => frame.comment !== null).length === 2);
  assert.ok(frames.every((frame) => frame.comment === null || frame.data === ''));
  reader.close();
});

test('a reader that stops reading costs no memory, catches up with a gap, and is cut after a minute', async (t) => {
  const events = memoryLog(50);
  const { port, clock } = await startEdge(t, { events });
  const reader = await readEvents(port, STREAM);
  await reader.until((all) => states(all).length === 1);
  reader.pause();
  const detail = 'x'.repeat(2_000);
  const before = liveHeap();
  // 40 MB of facts: the socket takes a part, the log keeps 50, nothing else holds them.
  for (let i = 0; i < 20_000; i++) {
    events.append({ type: 'backend_crashed', detail });
    if (i % 20 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  const grown = liveHeap() - before;
  assert.ok(grown < 4_000_000, `${grown} bytes more`);
  reader.resume();
  const frames = await reader.until((all) => ids(all).at(-1) === 20_000);
  assert.ok(frames.some((frame) => frame.event === 'gap'));
  assert.equal(new Set(ids(frames)).size, ids(frames).length);
  assert.deepEqual(
    ids(frames),
    ids(frames).toSorted((a, b) => a - b),
  );
  reader.pause();
  for (let i = 0; i < 20_000; i++) {
    events.append({ type: 'backend_crashed', detail });
    if (i % 20 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  clock.advance(75_000);
  reader.resume();
  await reader.ended;
});

test('with no reader nothing is watched and no alarm is set', async (t) => {
  const { port, gate, events, clock, metrics } = await startEdge(t);
  metrics.close();
  const atRest = clock.alarms();
  const reader = await readEvents(port, STREAM);
  await reader.until((all) => states(all).length === 1);
  assert.equal(gate.watchers(), 1);
  assert.equal(events.listeners(), 1);
  const again = await readEvents(port, STREAM);
  reader.close();
  again.close();
  await until(() => gate.watchers() === 0);
  assert.equal(events.listeners(), 0);
  assert.equal(clock.alarms(), atRest);
});

test('the hundred-and-first stream is refused with Retry-After', async (t) => {
  const { port } = await startEdge(t);
  const readers = await Promise.all(Array.from({ length: 100 }, () => readEvents(port, STREAM)));
  const answer = await ask(port, { path: STREAM });
  assert.equal(answer.status, 503);
  assert.equal(errorOf(answer)['code'], 'capacity');
  assert.equal(answer.headers['retry-after'], '15');
  for (const reader of readers) reader.close();
});

test('a stream whose token was changed ends at the next comment', async (t) => {
  let adminToken: string | null = 'first-token';
  const { port, clock } = await startEdge(t, { security: () => ({ ...OPEN, adminToken }) });
  const reader = await readEvents(port, STREAM, { authorization: 'Bearer first-token' });
  await reader.until((all) => states(all).length === 1);
  clock.advance(15_000);
  await reader.until((all) => all.some((frame) => frame.comment !== null));
  adminToken = 'second-token';
  clock.advance(15_000);
  await reader.ended;
});

test('events come as JSON pages, oldest first, with a gap where they are no longer kept', async (t) => {
  const events = memoryLog(5);
  const { port } = await startEdge(t, { events });
  for (let i = 0; i < 8; i++) events.append({ type: 'failover' });
  const page = (path: string) => ask(port, { path }).then((answer) => answer.json());
  const all = (await page('/admin/events?since=5')) as { events: { seq: number }[]; next: number };
  assert.deepEqual([all.events.map(({ seq }) => seq), all.next, 'gap' in all], [[6, 7, 8], 8, false]);
  const some = (await page('/admin/events?since=3&limit=2')) as typeof all;
  assert.deepEqual([some.events.map(({ seq }) => seq), some.next], [[4, 5], 5]);
  assert.deepEqual(await page('/admin/events?since=8'), { events: [], next: 8 });
  const old = (await page('/admin/events')) as typeof all & { gap: boolean };
  assert.deepEqual([old.events.length, old.next, old.gap], [5, 8, true]);
  assert.deepEqual(await page('/admin/events?since=900'), { events: old.events, next: 8, gap: true });
});

test('a wrong number in the query is named', async (t) => {
  const { port } = await startEdge(t);
  for (const path of ['/admin/events?since=-1', `${STREAM}?since=-1`]) {
    const answer = await ask(port, { path });
    assert.equal(answer.status, 400);
    assert.equal(errorOf(answer)['message'], '"since" in the query is "-1", expected a whole number from 0.');
  }
  const answer = await ask(port, { path: '/admin/events?sinc=1' });
  assert.equal(errorOf(answer)['message'], 'Unknown key "sinc" in the query. Did you mean "since"?');
});
