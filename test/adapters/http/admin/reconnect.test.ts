import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { EventSource } from 'undici';
import { systemClock } from '../../../../app/clock.ts';
import { openEventLog } from '../../../../app/event-log.ts';
import { startEdge } from '../../../support/edge.ts';

test('an EventSource over a restart of the controller gets every fact of the real log once, in order', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'events-'));
  t.after(() => rm(folder, { recursive: true }));
  const quiet = { notice: assert.fail, problem: () => assert.fail(), problemGone: () => {} };
  const open = () => openEventLog({ folder, clock: systemClock, ...quiet });
  const tell = (log: Awaited<ReturnType<typeof open>>, count: number): void => {
    for (let i = 0; i < count; i++) log.append([{ type: 'failover', model: 'chat' }], Date.now());
  };
  const firstLog = await open();
  tell(firstLog, 3);
  const first = await startEdge(t, { events: firstLog, clock: systemClock });
  const source = new EventSource(`http://127.0.0.1:${first.port}/admin/events/stream?since=0`);
  t.after(() => source.close());
  const seen: number[] = [];
  const waiting = new Map<number, () => void>();
  source.addEventListener('message', ({ data, lastEventId }) => {
    const { seq } = JSON.parse(data);
    assert.equal(lastEventId, String(seq));
    seen.push(seq);
    waiting.get(seq)?.();
  });
  const until = (seq: number) =>
    new Promise<void>((resolve) => {
      if (seen.includes(seq)) resolve();
      else waiting.set(seq, resolve);
    });
  await until(3);
  await first.server.close(0);
  tell(firstLog, 4);
  await firstLog.close();
  const secondLog = await open();
  t.after(() => secondLog.close());
  const listen = { host: '127.0.0.1', port: first.port };
  await startEdge(t, { events: secondLog, clock: systemClock, listen });
  tell(secondLog, 2);
  await until(9);
  assert.deepEqual(seen, [1, 2, 3, 4, 5, 6, 7, 8, 9]);
});
