import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import '../../../app/adapters/docker/api.ts';

const require = createRequire(import.meta.url);

function isLoaded(name: string): boolean {
  return Object.keys(require.cache).some((path) => path.includes(`/node_modules/${name}/`));
}

test('dockerode comes without what it needs only for builds', () => {
  assert.ok(isLoaded('dockerode'));
  for (const name of ['@grpc/grpc-js', '@grpc/proto-loader', 'protobufjs', 'ssh2']) {
    assert.ok(!isLoaded(name), name);
  }
});

test('ssh comes when a connection is made', () => {
  const modem = createRequire(require.resolve('dockerode'))('docker-modem/lib/ssh.js') as (
    options: object,
  ) => unknown;
  modem({ host: '127.0.0.1' });
  assert.ok(isLoaded('ssh2'));
});
