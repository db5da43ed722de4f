import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hostAllowed, parseHost } from '../../../../app/adapters/http/security/hosts.ts';

test('a Host header is read with or without port, brackets and trailing dot', () => {
  const cases: readonly (readonly [string, string | null, string | null])[] = [
    ['nas', 'nas', null],
    ['NAS.local:11535', 'nas.local', '11535'],
    ['nas.example.com.:80', 'nas.example.com', '80'],
    ['192.168.1.5:11535', '192.168.1.5', '11535'],
    ['[fd00::1]:11535', 'fd00::1', '11535'],
    ['[::1]', '::1', null],
    ['', null, null],
    ['a b', null, null],
    ['user@nas', null, null],
    ['nas:port', null, null],
    ['nas/path', null, null],
    ['[nas]', null, null],
    ['fd00::1', null, null],
  ];
  for (const [header, name, port] of cases) {
    assert.deepEqual(parseHost(header), name === null ? null : { name, port }, header);
  }
});

test('names that only a home network gives are allowed, public ones when they are listed', () => {
  const allowed = [
    ['localhost', '127.0.0.1', '::1', '192.168.1.5', 'nas', 'llamastead'],
    ['nas.local', 'nas.lan', 'nas.home', 'nas.home.arpa', 'box.internal', 'nas.tail1234.ts.net'],
    ['llm.example.com', 'other.example.com'],
  ].flat();
  const refused = [
    'evil.com',
    'local.evil.com',
    'nas.local.evil.com',
    'example.com',
    'a.llm.example.com',
    'ts.net',
  ];
  const listed = ['llm.example.com', 'other.example.com:8443'];
  for (const name of allowed) assert.equal(hostAllowed(name, listed), true, name);
  for (const name of refused) assert.equal(hostAllowed(name, listed), false, name);
});
