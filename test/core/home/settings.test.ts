import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseConfig } from '../../../app/config.ts';
import type { Bench } from '../../home/bench.ts';
import { benchSettings, mergeSettings, outwardOf, writtenOut } from '../../home/controller/settings.ts';

const bench: Bench = {
  docker: { host: 'unix:///nowhere', run: async () => '' },
  socket: '/nowhere',
  base: 'base:1',
  images: { cpu: 'llama:cpu', vulkan: 'llama:vulkan' },
  modelsDir: '/nowhere',
  tinyFile: 'tiny.gguf',
  chatFile: 'chat.gguf',
};
const own = benchSettings(bench, { mqttPassword: 'secret', story: false });

test('the bench configuration is one that Llamastead accepts, with both models on GPU and CPU', () => {
  const parsed = parseConfig(JSON.stringify(own), 'llamastead.yaml', {
    variable: () => undefined,
    readFile: () => '',
  });
  assert.ok(parsed.ok, JSON.stringify(parsed));
  assert.ok(parsed.config.models !== 'auto');
  const { chat, tiny } = parsed.config.models;
  assert.deepEqual([chat?.context, chat?.parallel, tiny?.context, tiny?.parallel], [8192, 2, 2048, 4]);
  for (const model of [chat, tiny]) assert.deepEqual(model?.placements, ['gpu', 'cpu']);
});

test('a configuration is merged key by key: models are added, lists and values replaced', () => {
  const merged = mergeSettings(own, {
    models: { tiny: { parallel: 1 }, more: { file: 'more.gguf' } },
    gpus: [],
    memory: { reserve: '1GiB' },
    images: null,
  });
  assert.deepEqual(merged['models'], {
    ...(own['models'] as object),
    tiny: { file: 'tiny.gguf', context: 2048, parallel: 1, placements: ['gpu', 'cpu'] },
    more: { file: 'more.gguf' },
  });
  assert.deepEqual(merged['gpus'], []);
  assert.deepEqual(merged['memory'], { reserve: '1GiB' });
  assert.deepEqual(merged['images'], bench.images);
});

test('merging changes neither of the two', () => {
  const before = structuredClone(own);
  mergeSettings(own, { models: { tiny: { parallel: 1 } } });
  assert.deepEqual(own, before);
});

test('ports, broker and token are read from the merged configuration', () => {
  const outward = outwardOf(
    mergeSettings(own, { listen: { port: 9000 }, security: { adminToken: 'token' }, mqtt: { base: 'lab' } }),
  );
  assert.equal(outward.listen.port, 9000);
  assert.equal(writtenOut(outward.security.adminToken), 'token');
  assert.equal(writtenOut(outward.mqtt.embedded.password), 'secret');
  assert.deepEqual([outward.mqtt.base, outward.mqtt.instance], ['lab', 'home']);
});

test('a secret in a file or a variable is not known outside the container', () => {
  assert.equal(writtenOut({ file: '/run/secret' }), undefined);
  assert.equal(writtenOut('auto'), undefined);
  assert.equal(writtenOut(null), undefined);
});
