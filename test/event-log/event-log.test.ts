import assert from 'node:assert/strict';
import { appendFile, mkdir, readFile, rename, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { test } from 'node:test';
import { decode } from '../../app/event-log/record.ts';
import { fc } from '../support/property.ts';
import { fact, many } from './facts.ts';
import { newFolder, numbers, openLog, segmentFiles } from './support.ts';

test('facts are numbered by one, across restarts, and come back as they were', async () => {
  const folder = newFolder();
  const first = await openLog(folder);
  await first.add(fact(1), fact(2));
  await first.log.close();
  const second = await openLog(folder);
  assert.equal(second.log.seq, 2);
  await second.add(fact(3));
  const { events, next, gap } = second.log.since(0, 100);
  assert.deepEqual(numbers(events), [1, 2, 3]);
  assert.deepEqual([next, gap], [3, false]);
  assert.deepEqual(events.slice(0, 2), first.told);
  assert.deepEqual(first.told[0], {
    v: 1,
    seq: 1,
    time: first.told[0]?.time,
    type: 'model_loaded',
    model: 'm1',
    seconds: 1,
  });
  assert.match(first.told[0]?.time ?? '', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  await second.log.close();
});

test('a fact is on the disk before it is told', async () => {
  const folder = newFolder();
  const { log, add } = await openLog(folder);
  const seen: number[] = [];
  const checks: Promise<void>[] = [];
  log.subscribe(({ seq }) => {
    seen.push(seq);
    checks.push(
      segmentFiles(folder)
        .then(([file = '']) => readFile(file))
        .then((content) => assert.ok(decode(content).facts.some((kept) => kept.seq === seq))),
    );
  });
  await add(...many(5));
  await Promise.all(checks);
  assert.deepEqual(seen, [1, 2, 3, 4, 5]);
  await log.close();
});

test('append returns at once with the number to come; nothing is told in the same turn', async () => {
  const { log, told } = await openLog(newFolder());
  assert.equal(log.append(many(3), 0), 3);
  assert.equal(log.append([fact(4)], 0), 4);
  assert.equal(log.seq, 0);
  assert.deepEqual(told, []);
  await log.close();
  assert.deepEqual(numbers(told), [1, 2, 3, 4]);
});

test('without facts nothing is written', async () => {
  const folder = newFolder();
  const { log, clock } = await openLog(folder);
  const before = await stat(folder);
  clock.advance(86_400_000);
  await log.close();
  assert.deepEqual(await segmentFiles(folder), []);
  assert.equal((await stat(folder)).mtimeMs, before.mtimeMs);
});

test('a file cut at any byte gives the facts before the cut, and the log goes on from there', async () => {
  const folder = newFolder();
  const { log, add, told } = await openLog(folder);
  await add(...many(6));
  await log.close();
  const [file = ''] = await segmentFiles(folder);
  const whole = await readFile(file);
  await fc.assert(
    fc.asyncProperty(fc.nat(whole.length), async (cut) => {
      await writeFile(file, whole.subarray(0, cut));
      const again = await openLog(folder);
      const kept = again.log.since(0, 100).events;
      assert.deepEqual(kept, told.slice(0, kept.length));
      await again.add(fact(99));
      assert.equal(again.log.seq, kept.length + 1);
      await again.log.close();
      const [last] = (await openLog(folder)).log.since(kept.length, 1).events;
      assert.equal(last?.model, 'm99');
    }),
    { numRuns: 60 },
  );
});

test('a record that is torn is dropped with a notice', async () => {
  const folder = newFolder();
  const { log, add } = await openLog(folder);
  await add(...many(2));
  await log.close();
  const [file = ''] = await segmentFiles(folder);
  await appendFile(file, '12345678 {"v":1,"seq":3,"ty');
  const again = await openLog(folder);
  assert.equal(again.log.seq, 2);
  assert.match(again.notices.join(), /27 bytes of an event/);
});

test('a damaged record in the middle is left out, and those after it stay', async () => {
  const folder = newFolder();
  const { log, add } = await openLog(folder);
  await add(...many(3));
  await log.close();
  const [file = ''] = await segmentFiles(folder);
  const lines = (await readFile(file, 'utf8')).split('\n');
  await writeFile(file, [lines[0], lines[1]?.replace('m2', 'mX'), ...lines.slice(2)].join('\n'));
  const again = await openLog(folder);
  assert.deepEqual(numbers(again.log.since(0, 10).events), [1, 3]);
  assert.match(again.notices.join(), /1 damaged/);
});

test('any bytes in the folder open as a log that goes on', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), async (bytes) => {
      const folder = newFolder();
      await mkdir(folder, { recursive: true });
      await writeFile(`${folder}/0000000000000001.events`, bytes);
      const { log, add } = await openLog(folder);
      await add(fact(1));
      await log.close();
      assert.equal((await openLog(folder)).log.seq, log.seq);
    }),
    { numRuns: 40 },
  );
});

test('old segments go when the log is too large or too old, never the newest', async () => {
  const folder = newFolder();
  const limits = { segmentBytes: 200, bytes: 600, days: 2, perSecond: 1000 };
  const { log, add, clock } = await openLog(folder, { limits });
  for (let n = 1; n <= 30; n++) await add(fact(n));
  const sizes = await Promise.all((await segmentFiles(folder)).map(async (file) => (await stat(file)).size));
  assert.ok(sizes.length > 1 && sizes.reduce((sum, size) => sum + size, 0) <= 600 + 200, String(sizes));
  clock.advance(3 * 86_400_000);
  await add(fact(31));
  await add(fact(32));
  assert.ok((await segmentFiles(folder)).length <= 2);
  await log.close();
  const again = await openLog(folder, { limits });
  assert.equal(again.log.seq, 32);
  assert.equal(again.log.since(0, 100).gap, true);
});

test('what memory no longer holds is read from the disk; what nobody holds is a gap', async () => {
  const folder = newFolder();
  const limits = { ring: 4, segmentBytes: 300, perSecond: 1000 };
  const { log, add } = await openLog(folder, { limits });
  for (let n = 1; n <= 20; n++) await add(fact(n));
  const near = log.since(0, 100);
  assert.equal(near.gap, true);
  assert.equal(near.next, 20);
  const far = await log.read(0, 7);
  assert.deepEqual(numbers(far.events), [1, 2, 3, 4, 5, 6, 7]);
  assert.deepEqual([far.next, far.gap], [7, false]);
  assert.deepEqual(numbers((await log.read(18, 100)).events), [19, 20]);
  const beyond = log.since(500, 100);
  assert.equal(beyond.gap, true, 'a number of another life');
  await log.close();
});

test('a page of facts ends where the next begins', async () => {
  const { log, add } = await openLog(newFolder());
  await add(...many(10));
  const one = log.since(0, 4);
  const two = log.since(one.next, 4);
  assert.deepEqual(numbers([...one.events, ...two.events]), [1, 2, 3, 4, 5, 6, 7, 8]);
  assert.deepEqual(log.since(10, 4), { events: [], next: 10, gap: false });
  await log.close();
});

test('a folder that cannot be used: facts are told, a problem says why, and numbers are not given again', async () => {
  const folder = newFolder();
  const first = await openLog(folder);
  await first.add(...many(3));
  await first.log.close();
  await rename(folder, `${folder}.away`);
  await writeFile(folder, 'a file where the folder should be');
  const broken = await openLog(folder);
  await broken.add(fact(4), fact(5));
  assert.equal(broken.told.length, 2);
  assert.deepEqual(
    broken.problems.map(({ code }) => code),
    ['events_not_kept'],
  );
  const used = numbers(broken.told);
  await broken.log.close();
  const later = await openLog(folder, { age: 60_000 });
  await later.add(fact(6));
  assert.ok(numbers(later.told).every((seq) => seq > 3 && !used.includes(seq)));
  await later.log.close();
});

test('a disk that refuses in mid-run gets what it missed when it takes again', async () => {
  const folder = newFolder();
  const { log, add, clock, told, problems, gone } = await openLog(folder, { limits: { segmentBytes: 1 } });
  await add(fact(1));
  await rename(folder, `${folder}.away`);
  await add(fact(2));
  await add(fact(3));
  assert.equal(problems.length, 1);
  assert.deepEqual(log.since(0, 10).events, told);
  await rename(`${folder}.away`, folder);
  await add(fact(4));
  assert.deepEqual(gone, [], 'left alone for ten seconds');
  clock.advance(10_000);
  await log.close();
  assert.deepEqual(gone, ['events_not_kept']);
  const again = await openLog(folder);
  assert.deepEqual(again.log.since(0, 10).events, told);
  assert.equal(new Set(numbers(told)).size, 4);
});

test('a close is one more try for what the disk refused', async () => {
  const folder = newFolder();
  const { log, add, told } = await openLog(folder, { limits: { segmentBytes: 1 } });
  await add(fact(1));
  await rename(folder, `${folder}.away`);
  await add(fact(2));
  await rename(`${folder}.away`, folder);
  await log.close();
  assert.deepEqual((await openLog(folder)).log.since(0, 10).events, told);
});

test('no number at or below the floor is given', async () => {
  const { log, add, told } = await openLog(newFolder(), { floor: 40 });
  await add(fact(1));
  assert.deepEqual(numbers(told), [41]);
  await log.close();
});

test('a subscriber that fails harms nobody else', async () => {
  const { log, told, notices } = await openLog(newFolder());
  log.subscribe(() => {
    throw new Error('sink is broken');
  });
  const after: number[] = [];
  log.subscribe(({ seq }) => after.push(seq));
  log.append(many(2), 0);
  await log.close();
  assert.deepEqual(
    [numbers(told), after],
    [
      [1, 2],
      [1, 2],
    ],
  );
  assert.match(notices.join(), /sink is broken/);
});

test('a subscriber may append: the new fact comes after those of its batch', async () => {
  const { log, told } = await openLog(newFolder());
  const stop = log.subscribe(({ seq }) => {
    stop();
    assert.equal(log.append([fact(9)], 0), 4);
    assert.equal(seq, 1);
  });
  log.append(many(3), 0);
  await log.close();
  assert.deepEqual(
    told.map(({ model }) => model),
    ['m1', 'm2', 'm3', 'm9'],
  );
});

test('a burst of one type is merged, also when the log is closed within its second', async () => {
  const folder = newFolder();
  const { log, told } = await openLog(folder);
  log.append(
    Array.from({ length: 100 }, () => ({ type: 'request_failed', code: 'capacity' }) as const),
    0,
  );
  await log.close();
  assert.equal(told.length, 21);
  assert.equal(told.at(-1)?.count, 80);
});

test('a leftover of another version is no obstacle', async () => {
  const folder = newFolder();
  await mkdir(folder, { recursive: true });
  await writeFile(`${folder}/notes.txt`, 'x');
  const { log, add } = await openLog(folder);
  await add(fact(1));
  assert.equal(log.seq, 1);
  await log.close();
  await truncate(`${folder}/notes.txt`, 0);
  await rm(dirname(folder), { recursive: true });
});
