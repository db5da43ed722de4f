import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ask, errorOf, OPEN, startEdge } from '../../../support/edge.ts';

const EVERYWHERE = ['/', '/index', '/assets/app.js', '/admin/state', '/admin/events/stream', '/admin/login'];
const LOAD = '/admin/models/chat/load';

test('a rebound name is refused on the page and the admin API, and the error says what to add', async (t) => {
  const { port } = await startEdge(t);
  for (const path of EVERYWHERE) {
    const answer = await ask(port, { path, headers: { host: `evil.example:${port}`, accept: 'text/html' } });
    assert.equal(answer.status, 403, path);
    assert.equal(errorOf(answer)['code'], 'forbidden_host');
    assert.match(errorOf(answer)['message'] ?? '', /"evil\.example".*allowedHosts: \["evil\.example"\]/);
  }
});

test('a listed name, a local name and an address are let in', async (t) => {
  const { port } = await startEdge(t, { security: () => ({ ...OPEN, allowedHosts: ['llm.example.com'] }) });
  for (const host of ['llm.example.com', 'nas.local:11535', 'nas', '[fd00::1]:11535', `127.0.0.1:${port}`]) {
    assert.equal((await ask(port, { path: '/admin/state', headers: { host } })).status, 200, host);
  }
});

test('programs reach the model API by any name; a browser on that name does not', async (t) => {
  const { port } = await startEdge(t);
  const path = '/v1/chat/completions';
  const host = 'llm.example.com';
  assert.equal((await ask(port, { method: 'POST', path, headers: { host }, body: {} })).status, 200);
  for (const mark of [{ origin: `http://${host}` }, { 'sec-fetch-site': 'same-origin' }]) {
    const answer = await ask(port, { method: 'POST', path, headers: { host, ...mark }, body: {} });
    assert.equal(errorOf(answer)['code'], 'forbidden_host');
  }
});

test('a page of another site can post nothing, whatever form it takes', async (t) => {
  const { port, gate } = await startEdge(t);
  const host = `nas.local:${port}`;
  const strangers = [
    { origin: 'http://evil.example' },
    { origin: 'null' },
    { origin: 'http://nas.local:3000' },
    { origin: `https://nas.local.evil.example:${port}` },
    { origin: 'chrome-extension://abcdef' },
    { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' },
    { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' },
  ];
  for (const stranger of strangers) {
    // A form or a fetch without preflight can send this.
    const headers = { host, 'content-type': 'text/plain', ...stranger };
    const answer = await ask(port, { method: 'POST', path: LOAD, headers, body: '{}' });
    assert.equal(answer.status, 403, JSON.stringify(stranger));
    assert.equal(errorOf(answer)['code'], 'forbidden_origin');
  }
  assert.deepEqual(gate.commands, []);
  const own = { host, origin: `http://${host}`, 'sec-fetch-site': 'same-origin' };
  assert.equal((await ask(port, { method: 'POST', path: LOAD, headers: own })).status, 202);
});

test('a page of another site can use no model, an app or an extension can', async (t) => {
  const { port } = await startEdge(t);
  const post = (origin: string) =>
    ask(port, { method: 'POST', path: '/v1/chat/completions', headers: { origin }, body: '{}' });
  assert.equal(errorOf(await post('http://evil.example'))['code'], 'forbidden_origin');
  assert.equal(errorOf(await post('null'))['code'], 'forbidden_origin');
  for (const origin of ['app://obsidian.md', 'tauri://localhost', 'chrome-extension://abcdef']) {
    assert.equal((await post(origin)).status, 200, origin);
  }
});

test('behind a proxy that rewrites Host, the listed name is our own origin', async (t) => {
  const { port } = await startEdge(t, { security: () => ({ ...OPEN, allowedHosts: ['llm.example.com'] }) });
  const headers = { host: 'llamastead:11535', origin: 'https://llm.example.com' };
  assert.equal((await ask(port, { method: 'POST', path: LOAD, headers })).status, 202);
});

test('a link from another site opens the page and a report, and frames nothing', async (t) => {
  const { port } = await startEdge(t);
  const link = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
  assert.equal((await ask(port, { path: '/admin/state', headers: link })).status, 200);
  const frame = { ...link, 'sec-fetch-dest': 'iframe' };
  assert.equal(
    errorOf(await ask(port, { path: '/admin/state', headers: frame }))['code'],
    'forbidden_origin',
  );
});

test('the page and the admin API carry headers that keep strangers out, the model API none', async (t) => {
  const { port } = await startEdge(t);
  for (const path of ['/index', '/admin/state']) {
    const { headers } = await ask(port, { path });
    const policy = String(headers['content-security-policy']);
    for (const rule of ["script-src 'self'", "style-src 'self'", "require-trusted-types-for 'script'"]) {
      assert.ok(policy.includes(rule), rule);
    }
    assert.match(policy, /frame-ancestors 'self'/);
    assert.equal(headers['x-content-type-options'], 'nosniff');
    assert.equal(headers['x-powered-by'], undefined);
  }
  const { headers } = await ask(port, { path: '/v1/models' });
  assert.deepEqual(Object.keys(headers).toSorted(), ['connection', 'content-length', 'date']);
});
