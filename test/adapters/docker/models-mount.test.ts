import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { OwnMount } from '../../../app/adapters/docker/models-mount.ts';
import { modelsMount } from '../../../app/adapters/docker/models-mount.ts';
import { AppError } from '../../../app/errors.ts';

const bind = (source: string, destination: string): OwnMount => ({
  type: 'bind',
  name: '',
  source,
  destination,
});
const volume = (name: string, destination: string): OwnMount => ({
  type: 'volume',
  name,
  source: `/var/lib/docker/volumes/${name}/_data`,
  destination,
});
const whole = { subpath: undefined, folder: '/models' };

test('a bind mount gives its host path', () => {
  const mounts = [bind('/DATA/AppData/x', '/data'), bind('/DATA/LLM/models', '/models')];
  const found = modelsMount('/models', 'auto', mounts, false);
  assert.deepEqual(found, { type: 'bind', source: '/DATA/LLM/models', ...whole });
});

test('the mount with the longest path wins, and what is below it is added', () => {
  const mounts = [bind('/DATA', '/media'), bind('/mnt/ssd', '/media/ssd'), bind('/x', '/media/ss')];
  const found = modelsMount('/media/ssd/llm/', 'auto', mounts, false);
  assert.deepEqual(found, { type: 'bind', source: '/mnt/ssd/llm', ...whole });
});

test('a mount of the root holds everything', () => {
  const found = modelsMount('/srv/models', 'auto', [bind('/', '/')], false);
  assert.deepEqual(found, { type: 'bind', source: '/srv/models', ...whole });
});

test('a volume is given by its name', () => {
  const found = modelsMount('/models', 'auto', [volume('llm', '/models')], false);
  assert.deepEqual(found, { type: 'volume', source: 'llm', ...whole });
});

test('a folder of a volume is mounted where the engine can, else looked for below all of it', () => {
  const mounts = [volume('share', '/share')];
  const path = '/share/llm/gguf';
  assert.deepEqual(modelsMount(path, 'auto', mounts, true), {
    type: 'volume',
    source: 'share',
    subpath: 'llm/gguf',
    folder: '/models',
  });
  assert.deepEqual(modelsMount(path, 'auto', mounts, false), {
    type: 'volume',
    source: 'share',
    subpath: undefined,
    folder: '/models/llm/gguf',
  });
});

test('a configured host path wins, and outside a container the path itself is the one', () => {
  assert.equal(modelsMount('/models', '/mnt/m', [bind('/a', '/models')], false).source, '/mnt/m');
  assert.equal(modelsMount('/srv/models', 'auto', null, false).source, '/srv/models');
});

test('a folder inside the controller is refused by name', () => {
  const mounts = [bind('/x', '/model'), { ...bind('', '/models'), type: 'other' as const }];
  assert.throws(
    () => modelsMount('/models', 'auto', mounts, true),
    (error: unknown) => error instanceof AppError && error.code === 'models_not_shared',
  );
});
