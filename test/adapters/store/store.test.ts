import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { jsonFile } from '../../../app/adapters/json-file.ts';
import { openStore } from '../../../app/adapters/store.ts';
import type { Problem } from '../../../app/core/types.ts';
import type { JsonFile } from '../../../app/ports.ts';
import { manualClock } from '../../support/clock.ts';

const root = await mkdtemp(join(tmpdir(), 'store-'));
after(() => rm(root, { recursive: true }));
let folders = 0;

function newPath(): string {
  return join(root, String(folders++), 'state.json');
}

async function opened(path: string, file: JsonFile = jsonFile(path)) {
  const clock = manualClock();
  const told: Problem[] = [];
  const gone: string[] = [];
  const report = {
    problem: (problem: Problem) => told.push(problem),
    problemGone: (code: string) => gone.push(code),
  };
  return { ...(await openStore(file, clock, report, randomUUID)), clock, told, gone };
}

test('a first start makes owner and password, keeps them for ever, readable by us alone', async () => {
  const path = newPath();
  const first = (await opened(path)).store.state();
  assert.match(first.owner, /^[0-9a-f-]{36}$/);
  assert.ok(first.brokerPassword.length >= 20);
  assert.equal((await stat(path)).mode & 0o777, 0o600);
  assert.deepEqual((await opened(path)).store.state(), first);
  assert.notEqual((await opened(newPath())).store.state().owner, first.owner);
});

test('changes hold at once and are written together a few seconds later, and none without a change', async () => {
  const path = newPath();
  const { store, clock } = await opened(path);
  store.update({ counters: { requests: 1, failed: 0, failovers: 0 } });
  store.update({ counters: { requests: 2, failed: 1, failovers: 0 } });
  store.update({ speeds: { abc: { prompt: 100, generation: null } } });
  assert.equal(store.state().counters.requests, 2);
  assert.equal(JSON.parse(await readFile(path, 'utf8')).counters.requests, 0);
  clock.advance(5000);
  await store.flush();
  assert.deepEqual((await opened(path)).store.state(), store.state());
  const { mtimeMs, ino } = await stat(path);
  store.update({ counters: { requests: 2, failed: 1, failovers: 0 } });
  clock.advance(3_600_000);
  await store.flush();
  assert.deepEqual([(await stat(path)).mtimeMs, (await stat(path)).ino], [mtimeMs, ino]);
  assert.deepEqual(await readdir(dirname(path)), ['state.json']);
});

test('a broken document is kept aside and told; what is wrong in a good one is made anew', async () => {
  const path = newPath();
  const { owner } = (await opened(path)).store.state();
  await writeFile(path, '{"owner": ');
  const broken = await opened(path);
  assert.deepEqual(
    broken.problems.map(({ code }) => code),
    ['state_broken'],
  );
  assert.equal(await readFile(`${path}.broken`, 'utf8'), '{"owner": ');
  assert.notEqual(broken.store.state().owner, owner);
  await writeFile(
    path,
    JSON.stringify({
      owner,
      counters: { requests: -1 },
      speeds: { a: { prompt: 'x', generation: 2 } },
      answerTokens: { a: 'many' },
    }),
  );
  const mended = await opened(path);
  assert.deepEqual(mended.problems, []);
  assert.equal(mended.store.state().owner, owner);
  assert.deepEqual(mended.store.state().counters, { requests: 0, failed: 0, failovers: 0 });
  assert.deepEqual(mended.store.state().speeds, { a: { prompt: null, generation: 2 } });
  assert.deepEqual(mended.store.state().answerTokens, {});
});

test('of what was learned the newest is kept', async () => {
  const { store } = await opened(newPath());
  const names = Array.from({ length: 250 }, (_, n) => `model-${n}`);
  const each = <V>(value: V) => Object.fromEntries(names.map((name) => [name, value]));
  store.update({ speeds: each({ prompt: 100, generation: 10 }), answerTokens: each(20) });
  assert.deepEqual(Object.keys(store.state().speeds), names.slice(50));
  assert.deepEqual(Object.keys(store.state().answerTokens), names.slice(50));
});

test('a disk that refuses is told once, and once more when it takes again', async () => {
  const path = newPath();
  let full = false;
  const real = jsonFile(path);
  const refusing = jsonFile('/dev/null/state.json');
  const { store, clock, told, gone } = await opened(path, {
    ...real,
    write: (data) => (full ? refusing.write(data) : real.write(data)),
  });
  full = true;
  store.update({ counters: { requests: 1, failed: 0, failovers: 0 } });
  await store.flush();
  await store.flush();
  assert.deepEqual(
    told.map(({ code }) => code),
    ['state_unwritable'],
  );
  assert.equal(store.state().counters.requests, 1);
  full = false;
  clock.advance(5000);
  await store.flush();
  assert.deepEqual(gone, ['state_unwritable']);
  assert.equal((await opened(path)).store.state().counters.requests, 1);
});

test('a document that cannot be read is never replaced: it may hold the owner of running containers', async () => {
  const path = newPath();
  await mkdir(path, { recursive: true });
  const { store, problems } = await opened(path);
  assert.deepEqual(
    problems.map(({ code }) => code),
    ['state_unreadable'],
  );
  store.update({ counters: { requests: 1, failed: 0, failovers: 0 } });
  await store.flush();
  assert.ok((await stat(path)).isDirectory());
});

test('a half-written document of a crash does not count', async () => {
  const path = newPath();
  const { owner } = (await opened(path)).store.state();
  await writeFile(`${path}.tmp`, '{"owner": "x');
  assert.equal((await opened(path)).store.state().owner, owner);
});
