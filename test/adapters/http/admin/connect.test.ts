import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Access } from '../../../../app/adapters/http/options.ts';
import { ask, errorOf, OPEN, startEdge } from '../../../support/edge.ts';

const PASSWORD = 'pAssw2rd';
const access: Access = {
  url: () => 'http://192.168.1.10:11535/',
  broker: () => ({
    kind: 'embedded',
    host: null,
    port: 11_536,
    tls: false,
    username: 'llamastead',
    up: true,
    passwordIn: '/data/state.json',
  }),
  brokerPassword: () => PASSWORD,
};
const bearer = { authorization: 'Bearer admin-secret' };
const LOCKED = { ...OPEN, adminToken: 'admin-secret' };

test('programs are told the address, whether a key is needed, and where the broker is', async (t) => {
  const { port } = await startEdge(t, { access, security: () => ({ ...LOCKED, apiKeys: ['key'] }) });
  const answer = await ask(port, { path: '/admin/connect', headers: bearer });
  assert.deepEqual(answer.json(), {
    url: 'http://192.168.1.10:11535/',
    keyed: true,
    broker: {
      kind: 'embedded',
      host: null,
      port: 11_536,
      tls: false,
      username: 'llamastead',
      up: true,
      passwordIn: '/data/state.json',
      passwordShown: true,
    },
  });
  assert.ok(!answer.text.includes(PASSWORD));
});

test("the broker's password is told to the admin, over the session too, and kept nowhere", async (t) => {
  const { port } = await startEdge(t, { access, security: () => LOCKED });
  const path = '/admin/connect/broker-password';
  const token = { token: 'admin-secret' };
  const login = await ask(port, { method: 'POST', path: '/admin/login', body: token });
  const cookie = login.headers['set-cookie']?.[0]?.split(';')[0] ?? '';
  for (const headers of [bearer, { cookie }]) {
    const answer = await ask(port, { path, headers });
    assert.deepEqual(answer.json(), { password: PASSWORD });
    assert.equal(answer.headers['cache-control'], 'no-store');
  }
});

test("nobody else gets the broker's password: no token, a wrong one, a key, a stranger's page, an open home", async (t) => {
  const locked = await startEdge(t, { access, security: () => ({ ...LOCKED, apiKeys: ['key'] }) });
  const open = await startEdge(t, { access });
  const path = '/admin/connect/broker-password';
  const refusals = [
    { port: locked.port, headers: {}, status: 401 },
    { port: locked.port, headers: { authorization: 'Bearer key' }, status: 401 },
    { port: locked.port, headers: { ...bearer, origin: 'http://evil.example' }, status: 403 },
    { port: open.port, headers: {}, status: 403 },
    { port: open.port, headers: { 'sec-fetch-site': 'same-origin' }, status: 403 },
  ];
  for (const { port, headers, status } of refusals) {
    const answer = await ask(port, { path, headers });
    assert.equal(answer.status, status);
    assert.ok(!answer.text.includes(PASSWORD));
  }
  const told = errorOf(await ask(open.port, { path }));
  assert.equal(told['code'], 'token_needed');
  assert.match(String(told['message']), /security\.adminToken/);
});

test('a home without a broker of its own has no password to tell', async (t) => {
  const security = () => LOCKED;
  const without = { ...access, broker: () => null, brokerPassword: () => null };
  const { port } = await startEdge(t, { access: without, security });
  const connect = await ask(port, { path: '/admin/connect', headers: bearer });
  assert.equal((connect.json() as { broker: unknown }).broker, null);
  const answer = await ask(port, { path: '/admin/connect/broker-password', headers: bearer });
  assert.equal(answer.status, 404);
});
