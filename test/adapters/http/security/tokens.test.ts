import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ask, errorOf, OPEN, startEdge } from '../../../support/edge.ts';

const TOKEN = 'correct horse; battery=staple,한글';
const LOCKED = { ...OPEN, adminToken: 'admin-secret', apiKeys: ['key-one', 'key-two'] };
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

/** The `name=value` of the cookie that an answer sets. */
function cookieOf(headers: { 'set-cookie'?: string[] | undefined }): string {
  return headers['set-cookie']?.[0]?.split(';')[0] ?? '';
}

test('no data comes before the token, and all of it with the token', async (t) => {
  const { port } = await startEdge(t, { security: () => LOCKED });
  const paths = [
    '/admin/state',
    '/admin/events',
    '/admin/events/stream',
    '/admin/settings',
    '/admin/connect',
    '/admin/connect/broker-password',
    '/metrics',
    '/admin/x',
  ];
  for (const path of paths) {
    for (const headers of [{}, bearer('wrong'), { cookie: 'llamastead_web=guess' }]) {
      const answer = await ask(port, { path, headers });
      assert.equal(answer.status, 401, path);
      assert.equal(errorOf(answer)['code'], 'unauthorized');
      assert.match(String(answer.headers['www-authenticate']), /^Bearer/);
    }
  }
  for (const path of ['/admin/state', '/admin/events', '/admin/settings', '/metrics']) {
    assert.equal((await ask(port, { path, headers: bearer('admin-secret') })).status, 200, path);
  }
  for (const path of ['/healthz', '/readyz']) assert.equal((await ask(port, { path })).status, 200, path);
});

test('an API key opens the model API and the metrics, not the admin API; the admin token opens all', async (t) => {
  const { port } = await startEdge(t, { security: () => LOCKED });
  const status = async (path: string, headers: Record<string, string>) =>
    (await ask(port, { path, headers })).status;
  assert.equal(await status('/v1/models', {}), 401);
  assert.equal(await status('/api/tags', bearer('key')), 401);
  assert.equal(await status('/v1/models', bearer('key-two')), 200);
  assert.equal(await status('/v1/messages', { 'x-api-key': 'key-one' }), 200);
  assert.equal(await status('/v1/models', bearer('admin-secret')), 200);
  assert.equal(await status('/metrics', bearer('key-one')), 200);
  assert.equal(await status('/admin/state', bearer('key-one')), 401);
});

test('a model path says a missing key in its own form', async (t) => {
  const { port } = await startEdge(t, { security: () => LOCKED });
  const headers = { 'x-request-id': 'mine' };
  const anthropic = await ask(port, { method: 'POST', path: '/v1/messages?beta=true', headers });
  const body = anthropic.json() as { type: string; error: { type: string } };
  assert.deepEqual([anthropic.status, body.type, body.error.type], [401, 'error', 'authentication_error']);
  const openai = await ask(port, { method: 'POST', path: '/v1/chat/completions', headers });
  assert.equal(errorOf(openai)['request_id'], 'mine');
  for (const answer of [anthropic, openai]) {
    assert.match(String(answer.headers['www-authenticate']), /^Bearer/);
    assert.equal(answer.headers['x-request-id'], 'mine');
  }
});

test('the login makes a cookie that no script and no other site can use, and that opens page and chat', async (t) => {
  const { port } = await startEdge(t, { security: () => ({ ...LOCKED, adminToken: TOKEN }) });
  const login = await ask(port, { method: 'POST', path: '/admin/login', body: { token: TOKEN } });
  assert.deepEqual([login.status, login.json()], [200, { ok: true, needed: true }]);
  const line = login.headers['set-cookie']?.[0] ?? '';
  for (const part of ['HttpOnly', 'SameSite=Strict', 'Path=/']) assert.ok(line.includes(part), part);
  assert.ok(!line.includes('horse'), 'the token itself stays out of the cookie jar');
  const cookie = cookieOf(login.headers);
  for (const path of ['/admin/state', '/metrics', '/v1/models']) {
    assert.equal((await ask(port, { path, headers: { cookie: `a=b; ${cookie}; c=d` } })).status, 200, path);
  }
  const end = await ask(port, { method: 'DELETE', path: '/admin/login', headers: { cookie } });
  assert.match(end.headers['set-cookie']?.[0] ?? '', /Max-Age=0/);
});

test('a token with spaces and letters of any script works as a header too', async (t) => {
  const { port } = await startEdge(t, { security: () => ({ ...OPEN, adminToken: TOKEN }) });
  const sent = Buffer.from(TOKEN, 'utf8').toString('latin1');
  assert.equal((await ask(port, { path: '/admin/state', headers: bearer(sent) })).status, 200);
});

test('a changed token ends every session', async (t) => {
  let adminToken = 'first-secret';
  const { port } = await startEdge(t, { security: () => ({ ...OPEN, adminToken }) });
  const login = await ask(port, { method: 'POST', path: '/admin/login', body: { token: adminToken } });
  const headers = { cookie: cookieOf(login.headers) };
  assert.equal((await ask(port, { path: '/admin/state', headers })).status, 200);
  adminToken = 'second-secret';
  assert.equal((await ask(port, { path: '/admin/state', headers })).status, 401);
});

test('without a token the login says that none is needed and sets no cookie', async (t) => {
  const { port } = await startEdge(t);
  const login = await ask(port, { method: 'POST', path: '/admin/login', body: { token: 'any' } });
  assert.deepEqual(login.json(), { ok: true, needed: false });
  assert.equal(login.headers['set-cookie'], undefined);
});

test('wrong tokens have to wait: ten tries, then one every five seconds, from login and header alike', async (t) => {
  const { port, clock, logged } = await startEdge(t, { security: () => LOCKED });
  const login = (token: string) => ask(port, { method: 'POST', path: '/admin/login', body: { token } });
  const header = (token: string) => ask(port, { path: '/admin/state', headers: bearer(token) });
  for (let i = 0; i < 10; i++) assert.equal((await (i % 2 === 0 ? login : header)(`guess ${i}`)).status, 401);
  const waits = await login('guess 10');
  assert.equal(waits.status, 429);
  assert.equal(errorOf(waits)['code'], 'too_many_attempts');
  assert.equal(waits.headers['retry-after'], '5');
  assert.equal((await login('admin-secret')).status, 429);
  clock.advance(5_000);
  assert.equal((await login('guess 11')).status, 401);
  assert.equal((await login('guess 12')).status, 429);
  clock.advance(5_000);
  assert.equal((await login('admin-secret')).status, 200);
  assert.equal(logged.length, 11);
});

test('the same wrong token again is no guess and locks nobody out; a session is never locked out', async (t) => {
  const { port } = await startEdge(t, { security: () => LOCKED });
  const state = (headers: Record<string, string>) => ask(port, { path: '/admin/state', headers });
  const login = await ask(port, { method: 'POST', path: '/admin/login', body: { token: 'admin-secret' } });
  for (let i = 0; i < 50; i++) await state(bearer('an-old-token'));
  assert.equal((await state(bearer('admin-secret'))).status, 200);
  for (let i = 0; i < 12; i++) await state(bearer(`guess-${i}`));
  assert.equal((await state(bearer('admin-secret'))).status, 429);
  assert.equal((await state({ cookie: cookieOf(login.headers) })).status, 200);
});

test('no secret of a request reaches an error or the log', async (t) => {
  const { port, logged } = await startEdge(t, { security: () => LOCKED });
  const answers = [
    await ask(port, { path: '/admin/state', headers: bearer('almost-admin-secret') }),
    await ask(port, { method: 'POST', path: '/admin/login', body: { token: 'almost-admin-secret' } }),
    await ask(port, { path: '/v1/models', headers: bearer('almost-admin-secret') }),
  ];
  for (const answer of answers) assert.ok(!answer.text.includes('almost'));
  assert.ok(!JSON.stringify(logged).includes('almost'));
});
