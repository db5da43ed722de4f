import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { holderOptions, instanceOptions, type Place } from '../../../app/adapters/docker/container-spec.ts';
import { gpuAccess, withoutMissing } from '../../../app/adapters/docker/gpu-access.ts';
import { LABELS } from '../../../app/adapters/docker/names.ts';
import type { Profile } from '../../../app/core/types.ts';
import { AppError } from '../../../app/errors.ts';
import { planFor, SOFTWARE_GPU } from '../../support/containers/bench.ts';

const MIB = 1024 * 1024;
const OWNER = { home: 'home', owner: 'uuid', engine: 'local' };
const ENGINE = {
  socket: '',
  images: { cpu: 'cpu', vulkan: 'vulkan' },
  modelsFolder: '',
  crash: async () => {},
};
const PLACE: Place = {
  name: 'llamastead-home-tiny-cpu-abcdef',
  holder: 'h01d',
  port: 20_001,
  key: 'secret',
  models: { type: 'bind', source: '/srv/models', subpath: undefined, folder: '/models' },
  gpu: {},
  ioWeight: true,
};

const options = (profile: Partial<Profile> = {}, place: Partial<Place> = {}) =>
  instanceOptions(OWNER, planFor(ENGINE, 'i1', profile), { ...PLACE, ...place });
const env = (profile: Partial<Profile> = {}) =>
  new Map((options(profile).Env ?? []).map((line) => line.split('=', 2) as [string, string]));

describe('an instance as a container', () => {
  test('has a hard memory limit without swap and gives way to the services', () => {
    const { HostConfig: host } = options();
    assert.equal(host?.Memory, 700 * MIB);
    assert.equal(host?.MemorySwap, host?.Memory);
    assert.ok((host?.OomScoreAdj ?? 0) > 0);
    assert.ok((host?.CpuShares ?? 1024) < 1024);
    assert.equal(host?.BlkioWeight, 100);
    assert.equal(options({}, { ioWeight: false }).HostConfig?.BlkioWeight, undefined);
  });

  test('has an init, a bounded log, no restart and no health check', () => {
    const { HostConfig: host, Healthcheck } = options();
    assert.equal(host?.Init, true);
    assert.deepEqual(host?.LogConfig, { Type: 'json-file', Config: { 'max-size': '1m', 'max-file': '2' } });
    assert.equal(host?.RestartPolicy?.Name, 'no');
    assert.deepEqual(Healthcheck, { Test: ['NONE'] });
  });

  test("lives in the holder's network and reads the models only", () => {
    const { HostConfig: host } = options();
    assert.equal(host?.NetworkMode, 'container:h01d');
    const [mount] = host?.Mounts ?? [];
    const { Source, Target, ReadOnly } = mount ?? {};
    assert.deepEqual(
      { Source, Target, ReadOnly },
      { Source: '/srv/models', Target: '/models', ReadOnly: true },
    );
  });

  test('mounts a folder of a volume', () => {
    const models = { type: 'volume', source: 'v', subpath: 'llm', folder: '/models' } as const;
    const [mount] = options({}, { models }).HostConfig?.Mounts ?? [];
    assert.equal(mount?.Type, 'volume');
    assert.equal(mount?.VolumeOptions?.Subpath, 'llm');
  });

  test('carries the labels of the contract', () => {
    assert.deepEqual(options().Labels, {
      'io.llamastead.owner': 'uuid',
      'io.llamastead.instance': 'home',
      'io.llamastead.role': 'instance',
      'io.llamastead.engine': 'local',
      'io.llamastead.model': 'tiny',
      'io.llamastead.placement': 'cpu',
      'io.llamastead.config': 'abc123',
    });
    assert.equal(holderOptions(OWNER, 'cpu', 'net', 'abcdef').Labels?.[LABELS.role], 'holder');
  });
});

describe('the environment of an instance', () => {
  test('asks for the context of all slots together', () => {
    const variables = env({ context: 4096, parallel: 3 });
    assert.equal(variables.get('LLAMA_ARG_CTX_SIZE'), '12288');
    assert.equal(variables.get('LLAMA_ARG_N_PARALLEL'), '3');
  });

  test('uses no device on the CPU, and says nothing of layers', () => {
    assert.equal(env().get('LLAMA_ARG_DEVICE'), 'none');
    assert.equal(env().has('LLAMA_ARG_N_GPU_LAYERS'), false);
  });

  test('names the device of a GPU and puts all layers there', () => {
    const gpu = { ...SOFTWARE_GPU, devices: ['Vulkan0', 'Vulkan1'] };
    const variables = env({ placement: 'gpu', gpu });
    assert.equal(variables.get('LLAMA_ARG_DEVICE'), 'Vulkan0,Vulkan1');
    assert.equal(variables.get('LLAMA_ARG_N_GPU_LAYERS'), '999');
    assert.equal(variables.get('GGML_VK_VISIBLE_DEVICES'), '0');
    assert.equal(env({ placement: 'split', gpu }).has('LLAMA_ARG_N_GPU_LAYERS'), false);
  });

  test('lets nothing be chosen by the server itself', () => {
    const variables = env();
    assert.equal(variables.get('LLAMA_ARG_FIT'), 'off');
    assert.equal(variables.get('LLAMA_ARG_CACHE_RAM'), '64');
    // As many saved points as the need counts, not as many as the build likes.
    assert.equal(variables.get('LLAMA_ARG_CTX_CHECKPOINTS'), '2');
    const checkpoints = (more: Partial<Profile>) => env(more).get('LLAMA_ARG_CTX_CHECKPOINTS');
    assert.equal(checkpoints({ context: 65_536 }), '10');
    assert.equal(checkpoints({ context: 65_536, env: { LLAMA_ARG_CTX_CHECKPOINTS: '5' } }), '5');
    assert.equal(checkpoints({ context: 8192, env: { LLAMA_ARG_CTX_CHECKPOINTS: '20' } }), '20');
    assert.equal(checkpoints({ task: 'embedding' }), '0');
    assert.equal(variables.get('LLAMA_ARG_UI'), '0');
    assert.equal(variables.get('LLAMA_API_KEY'), 'secret');
    assert.equal(variables.get('LLAMA_ARG_PORT'), '20001');
  });

  test("follows the task, and the model's own variables win", () => {
    assert.equal(env({ task: 'embedding' }).get('LLAMA_ARG_EMBEDDINGS'), '1');
    assert.equal(env({ task: 'embedding', context: 512 }).get('LLAMA_ARG_UBATCH'), '512');
    assert.equal(env({ task: 'rerank' }).get('LLAMA_ARG_RERANKING'), '1');
    assert.equal(env({ projector: 'v/p.gguf' }).get('LLAMA_ARG_MMPROJ'), '/models/v/p.gguf');
    assert.equal(env({ env: { LLAMA_ARG_JINJA: '0' } }).get('LLAMA_ARG_JINJA'), '0');
  });

  test('takes file names as they are and refuses those that leave the folder', () => {
    assert.equal(env({ file: '한글 모델.gguf' }).get('LLAMA_ARG_MODEL'), '/models/한글 모델.gguf');
    for (const file of ['../x.gguf', 'a/../../x.gguf', '/etc/passwd']) {
      assert.throws(
        () => options({ file }),
        (error: unknown) => error instanceof AppError && error.code === 'outside_models',
      );
    }
  });
});

describe('access to a GPU', () => {
  test('differs by kind', () => {
    assert.deepEqual(gpuAccess('nvidia'), {
      DeviceRequests: [{ Driver: 'nvidia', Count: -1, Capabilities: [['gpu']] }],
    });
    const paths = (kind: 'amd' | 'intel' | 'vulkan') =>
      gpuAccess(kind).Devices?.map(({ PathOnHost }) => PathOnHost);
    assert.deepEqual(paths('amd'), ['/dev/kfd', '/dev/dri']);
    assert.deepEqual(paths('intel'), ['/dev/dri']);
    assert.deepEqual(paths('vulkan'), ['/dev/dri']);
    assert.deepEqual(gpuAccess('amd').GroupAdd, ['video', 'render']);
  });

  const NO_NODES =
    'error gathering device information while adding custom device "/dev/dri": no such file or directory';

  test('of a software device does without render nodes; a real card does not', () => {
    assert.deepEqual(withoutMissing(gpuAccess('vulkan'), 'vulkan', NO_NODES), { Devices: [] });
    assert.equal(withoutMissing({ Devices: [] }, 'vulkan', NO_NODES), undefined);
    assert.equal(withoutMissing(gpuAccess('intel'), 'intel', NO_NODES), undefined);
    assert.equal(withoutMissing(gpuAccess('amd'), 'amd', NO_NODES), undefined);
  });

  test('does without a group that the image does not name', () => {
    const error = 'Unable to find group render: no matching entries in group file';
    assert.deepEqual(withoutMissing(gpuAccess('amd'), 'amd', error)?.GroupAdd, ['video']);
    const runtime = 'could not select device driver "nvidia" with capabilities: [[gpu]]';
    assert.equal(withoutMissing(gpuAccess('nvidia'), 'nvidia', runtime), undefined);
  });
});
