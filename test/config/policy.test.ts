import assert from 'node:assert/strict';
import { test } from 'node:test';
import { profileHash } from '../../app/config/profile-hash.ts';
import { makePolicy, modelDefaults, type PolicyInput } from '../../app/config.ts';
import type { DetectedGpu } from '../../app/core/gpu-detection.ts';
import type { Model, Profile } from '../../app/core/types.ts';
import { fc } from '../support/property.ts';
import { gpu, load, modelFile } from './support.ts';

function detected(name: string, use: DetectedGpu['use'], more: Parameters<typeof gpu>[1] = {}): DetectedGpu {
  return {
    gpu: gpu(name, more),
    use,
    integrated: use === 'offered',
    pci: '0000:01:00.0',
    nodes: [],
    why: 'Because.',
    problem: null,
  };
}

function made(text: string | null, more: Partial<Omit<PolicyInput, 'config'>> = {}) {
  const { config } = load(text);
  const files = [modelFile('chat.gguf'), modelFile('small.gguf')];
  return makePolicy({ config, settings: new Map(), files, detected: [], cores: 4, ...more });
}

function model(result: ReturnType<typeof made>, name: string): Model {
  const found = result.policy.models.get(name);
  assert.ok(found, `${name} is not among ${[...result.policy.models.keys()].join(', ')}`);
  return found;
}

test('without configuration every file is a model: GPU then CPU, one request at once, idle after 10 minutes', () => {
  const result = made(null, {
    files: [
      modelFile('Qwen2.5 7B (Q4_K_M).gguf', { projector: 'mmproj-qwen.gguf' }),
      modelFile('tiny.gguf', { trainedContext: 2048 }),
      modelFile('sub/nomic-embed.gguf', { pooling: 'embedding' }),
      modelFile('한국어.gguf'),
    ],
    detected: [detected('card', 'on')],
  });
  const names = [...result.policy.models.keys()];
  assert.equal(names.length, 4);
  assert.ok(names.every((name) => /^[a-z0-9-]{1,40}$/.test(name)));
  const qwen = model(result, 'qwen2-5-7b-q4-k-m');
  assert.equal(qwen.displayName, 'Qwen2.5 7B (Q4_K_M)');
  assert.deepEqual(qwen.placements, ['gpu', 'cpu']);
  assert.equal(qwen.idleUnloadMs, 600_000);
  assert.equal(qwen.mode, 'auto');
  assert.equal(qwen.profiles.gpu?.context, 8192);
  assert.equal(qwen.profiles.gpu?.parallel, 1);
  assert.equal(qwen.profiles.gpu?.projector, 'mmproj-qwen.gguf');
  assert.equal(model(result, 'tiny').profiles.cpu?.context, 2048);
  assert.equal(model(result, 'nomic-embed').task, 'embedding');
  assert.ok(
    [...result.policy.models.values()].some(
      ({ displayName, name }) => displayName === '한국어' && name.startsWith('m-'),
    ),
  );
  assert.deepEqual(result.problems, []);
});

test('files whose names would collide become different models, whatever the order of the scan', () => {
  const files = ['a/chat.gguf', 'b/chat.gguf', 'Chat.gguf', 'other.gguf'].map((file) => modelFile(file));
  fc.assert(
    fc.property(fc.shuffledSubarray(files, { minLength: 4 }), (shuffled) => {
      const names = [...made(null, { files: shuffled }).policy.models.values()].map(({ name, profiles }) => [
        name,
        profiles.cpu?.file,
      ]);
      assert.deepEqual(
        names,
        [...made(null, { files }).policy.models.values()].map(({ name, profiles }) => [
          name,
          profiles.cpu?.file,
        ]),
      );
      assert.equal(new Set(names.map(([name]) => name)).size, 4);
    }),
  );
});

test('a profile is made from the model and what its placement overrides', () => {
  const result = made(
    `models:
  chat:
    file: chat.gguf
    context: 8192
    parallel: 2
    placements: [gpu, split, cpu]
    env: {LLAMA_ARG_CACHE_TYPE_K: q8_0, LLAMA_ARG_BATCH: 1024}
    gpu: {context: 4096, env: {LLAMA_ARG_BATCH: 512}}
    cpu: {file: small.gguf, threads: 2, parallel: 1, standby: warm}
gpus: [{name: card1, kind: nvidia, headroom: 1GiB}]
images: {cpu: cpu:1, cuda: cuda:1}`,
  );
  const { profiles, placements } = model(result, 'chat');
  assert.deepEqual(placements, ['gpu', 'split', 'cpu']);
  assert.deepEqual(Object.keys(profiles).sort(), ['cpu', 'gpu']);
  const { gpu: onGpu, cpu } = profiles;
  assert.ok(onGpu && cpu);
  assert.equal(onGpu.image, 'cuda:1');
  assert.equal(onGpu.context, 4096);
  assert.equal(onGpu.parallel, 2);
  assert.equal(onGpu.threads, 3);
  assert.deepEqual(onGpu.env, { LLAMA_ARG_CACHE_TYPE_K: 'q8_0', LLAMA_ARG_BATCH: '512' });
  assert.deepEqual(onGpu.gpu?.devices, ['CUDA0']);
  assert.equal(onGpu.gpu?.headroom, 2 ** 30);
  assert.equal(cpu.image, 'cpu:1');
  assert.equal(cpu.file, 'small.gguf');
  assert.equal(cpu.threads, 2);
  assert.equal(cpu.parallel, 1);
  assert.equal(cpu.context, 8192);
  assert.equal(cpu.gpu, null);
  assert.equal(cpu.standby, 'warm');
});

test('one core still gives one thread', () => {
  assert.equal(model(made(null, { cores: 1 }), 'chat').profiles.cpu?.threads, 1);
});

test('the projector goes with the file: another file on the CPU has none unless it is named', () => {
  const text = (cpu: string) => `models: {chat: {file: chat.gguf, projector: mm.gguf, cpu: ${cpu}}}`;
  const projector = (cpu: string) => model(made(text(cpu)), 'chat').profiles.cpu?.projector;
  assert.equal(projector('{}'), 'mm.gguf');
  assert.equal(projector('{file: chat.gguf}'), 'mm.gguf');
  assert.equal(projector('{file: small.gguf}'), null);
  assert.equal(projector('{file: small.gguf, projector: mm2.gguf}'), 'mm2.gguf');
  assert.equal(projector('{projector: null}'), null);
});

test('each kind of GPU has its device and its image', () => {
  const kinds: [string, string, string, string][] = [
    ['nvidia', '', 'CUDA0', 'server-cuda'],
    ['amd', '', 'ROCm0', 'server-rocm'],
    ['amd', 'devices: [Vulkan0]', 'Vulkan0', 'server-vulkan'],
    ['intel', '', 'Vulkan0', 'server-vulkan'],
    ['vulkan', '', 'Vulkan0', 'server-vulkan'],
  ];
  for (const [kind, more, device, image] of kinds) {
    const profile = model(made(`gpus: [{name: g, kind: ${kind}, ${more}}]`), 'chat').profiles.gpu;
    assert.deepEqual(profile?.gpu?.devices, [device], kind);
    assert.ok(profile.image.includes(`${image}-`), profile.image);
  }
});

test('a mirror stands in for the registry of each image', () => {
  const image = (name: string) =>
    model(made(`images: {cpu: "${name}", mirror: "registry.lan:5000/"}`), 'chat').profiles.cpu?.image;
  assert.equal(image('ghcr.io/ggml-org/llama.cpp:server'), 'registry.lan:5000/ggml-org/llama.cpp:server');
  assert.equal(image('localhost/llama:1'), 'registry.lan:5000/llama:1');
  assert.equal(image('team/llama:1'), 'registry.lan:5000/team/llama:1');
  assert.equal(image('llama:1'), 'registry.lan:5000/llama:1');
});

test('without a GPU there is no GPU profile, and the placement stays wished for', () => {
  const chat = model(made('gpus: []', { detected: [detected('card', 'on')] }), 'chat');
  assert.deepEqual(Object.keys(chat.profiles), ['cpu']);
  assert.deepEqual(chat.placements, ['gpu', 'cpu']);
});

test('a detected card is used, an integrated GPU is only offered, an unusable one says why', () => {
  const broken: DetectedGpu = {
    ...detected('bad', 'unusable'),
    problem: { code: 'gpu_driver_missing', text: 'No driver.', fix: 'Install it.' },
  };
  const result = made(null, { detected: [detected('card', 'on'), broken] });
  assert.deepEqual(
    result.policy.gpus.map(({ name }) => name),
    ['card'],
  );
  assert.deepEqual(
    result.problems.map(({ code }) => code),
    ['gpu_driver_missing'],
  );
  const offered = made(null, {
    detected: [
      detected('Intel graphics 46d1', 'offered', { kind: 'intel', memory: 'shared', devices: ['Vulkan0'] }),
    ],
  });
  assert.deepEqual(offered.policy.gpus, []);
  assert.deepEqual(
    offered.problems.map(({ code }) => code),
    ['gpu_not_used'],
  );
  const line = /gpus: \[\{.*?\}\]/.exec(offered.problems[0]?.fix ?? '')?.[0];
  assert.ok(line);
  const named = made(line, { detected: [] });
  assert.equal(model(named, 'chat').profiles.gpu?.gpu?.memory, 'shared');
});

test('a named GPU takes what was detected of it: memory and its size', () => {
  const seen = detected('NVIDIA GeForce RTX 3060', 'on', { total: 12 });
  const [named] = made('gpus: [{name: card1, kind: nvidia}]', { detected: [seen] }).policy.gpus;
  assert.equal(named?.total, 12);
  assert.equal(named?.memory, 'dedicated');
  const [shared] = made('gpus: [{name: card1, kind: vulkan, memory: shared}]').policy.gpus;
  assert.deepEqual([shared?.memory, shared?.total], ['shared', null]);
});

test('a named GPU of several cards has the memory of all, where it is known of each', () => {
  const cards = (...totals: (number | null)[]) =>
    totals.map((total, index) => detected(`card ${index}`, 'on', { total, devices: [`CUDA${index}`] }));
  const line = 'gpus: [{name: both, kind: nvidia, devices: [CUDA0, CUDA1]}]';
  const total = (...totals: (number | null)[]) =>
    made(line, { detected: cards(...totals) }).policy.gpus[0]?.total;
  assert.equal(total(8, 12), 20);
  assert.equal(total(8, null), null);
  assert.equal(total(8), null);
});

test('a card that is named for Vulkan is not taken for the graphics beside it, which are numbered apart', () => {
  const both = [
    detected('Radeon', 'on', { kind: 'amd', devices: ['ROCm0'], total: 12 }),
    detected('Ryzen', 'hidden', { kind: 'vulkan', devices: ['Vulkan0'], memory: 'shared', total: null }),
  ];
  const memory = (kind: string) =>
    made(`gpus: [{name: a, kind: ${kind}}]`, { detected: both }).policy.gpus[0]?.memory;
  assert.equal(memory('vulkan'), 'dedicated');
  assert.equal(memory('intel'), 'shared');
});

test('a named GPU is the cards that were detected under its devices, unless it numbers them itself', () => {
  const card = (index: number, use: DetectedGpu['use'], pci: string) =>
    detected(`Radeon ${index}`, use, {
      kind: 'amd',
      devices: [`ROCm${index}`],
      cards: { [`ROCm${index}`]: pci },
    });
  const both = [card(0, 'on', '0000:03:00.0'), card(1, 'on', '0000:04:00.0')];
  const cards = (line: string, found: readonly DetectedGpu[]) =>
    made(`gpus: [${line}]`, { detected: found }).policy.gpus[0]?.cards;
  assert.deepEqual(cards('{name: a, kind: amd}', both), { ROCm0: '0000:03:00.0' });
  assert.deepEqual(cards('{name: a, kind: amd, devices: [ROCm0, ROCm1]}', both), {
    ROCm0: '0000:03:00.0',
    ROCm1: '0000:04:00.0',
  });
  assert.deepEqual(cards('{name: a, kind: vulkan}', both), {});
  assert.deepEqual(cards('{name: a, kind: amd, env: {HIP_VISIBLE_DEVICES: 1}}', both), {});
  for (const use of ['hidden', 'unusable'] as const)
    assert.deepEqual(cards('{name: a, kind: amd}', [card(0, use, '0000:0c:00.0')]), {}, use);
  const joined = made('models: {chat: {file: chat.gguf, gpu: {devices: [ROCm0, ROCm1]}}}', {
    detected: both,
  });
  assert.deepEqual(model(joined, 'chat').profiles.gpu?.gpu?.cards, {
    ROCm0: '0000:03:00.0',
    ROCm1: '0000:04:00.0',
  });
});

test('NVIDIA cards are numbered by the bus, as they were detected, unless the configuration numbers them', () => {
  const found = [
    detected('T4', 'on', { kind: 'nvidia', devices: ['CUDA0'], cards: { CUDA0: '0000:01:00.0' } }),
  ];
  for (const [more, order, cards] of [
    ['', 'PCI_BUS_ID', { CUDA0: '0000:01:00.0' }],
    ['env: {CUDA_DEVICE_ORDER: PCI_BUS_ID}', 'PCI_BUS_ID', { CUDA0: '0000:01:00.0' }],
    ['env: {CUDA_DEVICE_ORDER: FASTEST_FIRST}', 'FASTEST_FIRST', {}],
  ] as const) {
    const [gpu] = made(`gpus: [{name: a, kind: nvidia, ${more}}]`, { detected: found }).policy.gpus;
    assert.deepEqual([gpu?.env['CUDA_DEVICE_ORDER'], gpu?.cards], [order, cards], more);
  }
  const [other] = made('gpus: [{name: a, kind: amd}]').policy.gpus;
  assert.deepEqual(other?.env, {});
});

test('a model may name its GPUs: by name, by the slug of a detected name, by device, several as one', () => {
  const gpus =
    'gpus: [{name: a, kind: nvidia, devices: [CUDA0]}, {name: b, kind: nvidia, devices: [CUDA1]}, {name: c, kind: intel}]';
  const devices = (list: string) => {
    const result = made(`${gpus}\nmodels: {chat: {file: chat.gguf, gpu: {devices: [${list}]}}}`);
    return model(result, 'chat').profiles.gpu?.gpu?.devices ?? result.problems.map(({ code }) => code);
  };
  assert.deepEqual(devices('b'), ['CUDA1']);
  assert.deepEqual(devices('CUDA1'), ['CUDA1']);
  assert.deepEqual(devices('a, b'), ['CUDA0', 'CUDA1']);
  assert.deepEqual(devices('a, c'), ['gpu_unknown']);
  assert.deepEqual(devices('x'), ['gpu_unknown']);
  const found = made('models: {chat: {file: chat.gguf, gpu: {devices: [geforce-rtx]}}}', {
    detected: [detected('GeForce RTX', 'on')],
  });
  assert.equal(model(found, 'chat').profiles.gpu?.gpu?.name, 'GeForce RTX');
});

test('a missing file is a problem that names the nearest one, and the model stays known', () => {
  const result = made(
    'models: {chat: {file: chatt.gguf, cpu: {file: small.gguf}}, b: {file: nowhere.gguf}}',
    {
      detected: [detected('card', 'on')],
    },
  );
  assert.deepEqual(Object.keys(model(result, 'chat').profiles), ['cpu']);
  assert.deepEqual(Object.keys(model(result, 'b').profiles), []);
  assert.deepEqual(
    result.problems.map(({ code, model: name }) => [code, name]),
    [
      ['model_file_missing', 'chat'],
      ['model_file_missing', 'b'],
    ],
  );
  assert.match(result.problems[0]?.fix ?? '', /chat\.gguf/);
});

test('settings stand over the file', () => {
  const settings = new Map<string, unknown>([
    ['models.chat.mode', 'cpu'],
    ['models.chat.idleUnload', 'never'],
    ['models.chat.keepLoaded', true],
    ['models.chat.context', 1024],
    ['memory.budget', 2 ** 30],
    ['failover.returnAfter', 1000],
    ['models.gone.mode', 'off'],
  ]);
  const result = made('models: {chat: {file: chat.gguf, idleUnload: 5m}, b: {file: small.gguf}}', {
    settings,
  });
  const chat = model(result, 'chat');
  assert.deepEqual([chat.mode, chat.idleUnloadMs, chat.keepLoaded], ['cpu', null, true]);
  assert.equal(chat.profiles.cpu?.context, 1024);
  assert.equal(model(result, 'b').mode, 'auto');
  assert.equal(result.policy.memory.budget, 2 ** 30);
  assert.equal(result.policy.failover.returnAfterMs, 1000);
});

test('the defaults of a model are what it has without settings', () => {
  const { config } = load('models: {chat: {file: chat.gguf, parallel: 3}}');
  const files = [modelFile('chat.gguf', { trainedContext: 512 })];
  assert.deepEqual(modelDefaults(config, files).get('chat'), {
    mode: 'auto',
    keepLoaded: false,
    idleUnload: 600_000,
    context: 512,
    parallel: 3,
  });
});

test('the hash follows all that a container is made from, and nothing else', () => {
  const { hash: _hash, ...profile } =
    model(made('gpus: [{name: a, kind: nvidia, env: {GGML_A: 1, GGML_B: 2}}]'), 'chat').profiles.gpu ??
    ({} as Profile);
  assert.ok(profile.gpu);
  const same: Omit<Profile, 'hash'>[] = [
    { ...profile, gpu: { ...profile.gpu, env: { GGML_B: '2', ...profile.gpu.env } } },
    { ...profile, standby: 'warm' },
    { ...profile, gpu: { ...profile.gpu, name: 'other', total: 1, headroom: 1, cards: { CUDA0: 'x' } } },
  ];
  for (const other of same) assert.equal(profileHash(other), profileHash(profile));
  const different: Omit<Profile, 'hash'>[] = [
    { ...profile, file: 'x' },
    { ...profile, projector: 'x' },
    { ...profile, image: 'x' },
    { ...profile, engine: 'x' },
    { ...profile, placement: 'split' },
    { ...profile, task: 'rerank' },
    { ...profile, context: 1 },
    { ...profile, parallel: 9 },
    { ...profile, threads: 9 },
    { ...profile, env: { LLAMA_ARG_TOP_K: '1' } },
    { ...profile, gpu: null },
    { ...profile, gpu: { ...profile.gpu, devices: ['CUDA1'] } },
    { ...profile, gpu: { ...profile.gpu, env: {} } },
    { ...profile, gpu: { ...profile.gpu, kind: 'vulkan' } },
  ];
  const hashes = different.map(profileHash);
  assert.equal(new Set([...hashes, profileHash(profile)]).size, different.length + 1);
  assert.match(profileHash(profile), /^[0-9a-f]{16}$/);
});
