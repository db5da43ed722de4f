import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { ask, startEdge } from '../../support/edge.ts';

const text = await readFile(new URL('../../../docs/http.md', import.meta.url), 'utf8');

test('docs/http.md lists exactly the metrics that there are', async (t) => {
  const { port } = await startEdge(t);
  const told = (await ask(port, { path: '/metrics' })).text.matchAll(/^# TYPE (\S+)/gm);
  const listed = text.matchAll(/`((?:llamastead|process|nodejs)_[a-z_]+)`/g);
  const names = (found: Iterable<RegExpMatchArray>) =>
    [...new Set([...found].map(([, name]) => name))].toSorted();
  assert.deepEqual(names(listed), names(told));
});

test('every admin path of docs/http.md takes the methods that it is listed with', async (t) => {
  const { port } = await startEdge(t);
  const section = text.slice(text.indexOf('## Paths'), text.indexOf('`MODEL` is'));
  for (const row of section.split('\n')) {
    const cell = row.split(' | ')[0] ?? '';
    const path = /`[A-Z ]*(\/admin\/[^`]+)`/.exec(cell)?.[1]?.replace('MODEL', 'chat').replace('KEY', 'x');
    if (path === undefined) continue;
    const methods = [...cell.matchAll(/\b(GET|POST|PATCH|DELETE)\b/g)].map(([method]) => method);
    const allow = (await ask(port, { method: 'PUT', path })).headers.allow?.split(', ') ?? [];
    for (const method of methods) assert.ok(allow.includes(method), `${method} ${path}: ${allow}`);
  }
});

test('the codes of docs/http.md have the status that is sent', async () => {
  const { statusOf } = await import('../../../app/adapters/http/errors.ts');
  const rows = text
    .slice(text.indexOf('| `invalid_request`'))
    .matchAll(/^\| (`[a-z_`, ]+`) +\| (\d{3}) +\|/gm);
  let seen = 0;
  for (const [, codes = '', status] of rows) {
    for (const code of codes.matchAll(/[a-z_]+/g)) {
      assert.equal(statusOf(code[0]), Number(status), code[0]);
      seen += 1;
    }
  }
  assert.ok(seen > 15);
});
