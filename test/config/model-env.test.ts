import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ENV_FORMS } from '../../app/config/env-forms.ts';
import { refuseModelEnv, refuseModelValue } from '../../app/config/model-env.ts';
import { elementBytes } from '../../app/core/gguf-types.ts';
import { launchOf } from '../../app/core/launch.ts';
import { profileOf } from '../support/profiles.ts';
import { fc } from '../support/property.ts';
import { load, problemsOf } from './support.ts';

test('variables for sampling, KV types, batch, attention, templates, reasoning, rope, NUMA and GGML are allowed', () => {
  const allowed = [
    'LLAMA_ARG_TEMPERATURE',
    'LLAMA_ARG_TOP_K',
    'LLAMA_ARG_CACHE_TYPE_K',
    'LLAMA_ARG_CACHE_TYPE_V',
    'LLAMA_ARG_BATCH',
    'LLAMA_ARG_UBATCH',
    'LLAMA_ARG_FLASH_ATTN',
    'LLAMA_ARG_CHAT_TEMPLATE',
    'LLAMA_ARG_CHAT_TEMPLATE_KWARGS',
    'LLAMA_ARG_THINK',
    'LLAMA_ARG_THINK_BUDGET',
    'LLAMA_ARG_SPEC_TYPE',
    'LLAMA_ARG_ROPE_SCALE',
    'LLAMA_ARG_NUMA',
    'GGML_CUDA_FORCE_MMQ',
    'GGML_VK_FORCE_MAX_BUFFER_SIZE',
  ];
  for (const name of allowed) assert.equal(refuseModelEnv(name), null, name);
});

test('variables that open files, networks or shells are refused, and none of them is on the list', () => {
  const refused = [
    'AGENT',
    'TOOLS',
    'TOOLS_RUNTIME',
    'MCP_SERVERS_CONFIG',
    'MCP_SERVERS_JSON',
    'UI_MCP_PROXY',
    'MODELS_DIR',
    'MODELS_PRESET',
    'RPC',
    'HF_REPO',
    'HF_FILE',
    'MODEL_URL',
    'MMPROJ_URL',
    'DOCKER_REPO',
    'STATIC_PATH',
    'LOG_FILE',
    'SLOT_SAVE_PATH',
    'API_PREFIX',
    'CHAT_TEMPLATE_FILE',
    'VIDEO_FFMPEG_DIR',
    'SSL_KEY_FILE',
    'SPEC_DRAFT_MODEL',
    'SPEC_DRAFT_HF_REPO',
    'UI_CONFIG_FILE',
    'API_KEY_FILE',
    'CORS_ORIGINS',
    'UI',
  ].map((name) => `LLAMA_ARG_${name}`);
  for (const name of [
    ...refused,
    'HF_TOKEN',
    'LD_PRELOAD',
    'PATH',
    'GGML_BACKEND_PATH',
    'llama_arg_top_k',
    'GGML_x',
    '',
  ]) {
    assert.notEqual(refuseModelEnv(name), null, name);
  }
  const risky = /FILE|PATH|URL|DIR|REPO|TOOLS|AGENT|MCP|RPC|HF_|MODELS|HOST|PORT|KEY_|CORS|DRAFT_MODEL/;
  for (const name of ENV_FORMS.keys()) assert.doesNotMatch(name, risky, name);
});

test('a variable of the planner is refused with the key that does it', () => {
  const keys: Record<string, string> = {
    LLAMA_ARG_CTX_SIZE: 'context',
    LLAMA_ARG_N_PARALLEL: 'parallel',
    LLAMA_ARG_MODEL: 'file',
    LLAMA_ARG_MMPROJ: 'projector',
    LLAMA_ARG_THREADS: 'cpu.threads',
    LLAMA_ARG_DEVICE: 'gpu.devices',
    LLAMA_ARG_EMBEDDINGS: 'task',
    LLAMA_API_KEY: 'security.apiKeys',
  };
  for (const [name, key] of Object.entries(keys)) {
    const [problem] = problemsOf(`models:\n  chat:\n    file: a.gguf\n    env:\n      ${name}: 1`);
    assert.equal(problem?.line, 5);
    assert.equal(problem?.key, `models.chat.env.${name}`);
    assert.ok(problem?.expected.startsWith(`${key} instead`), problem?.text);
  }
});

test('the number of saved points, from which memory is planned, may be set', () => {
  assert.deepEqual(
    problemsOf('models:\n  chat:\n    file: a.gguf\n    env:\n      LLAMA_ARG_CTX_CHECKPOINTS: 4'),
    [],
  );
});

test('a misspelled variable is led to the right one', () => {
  assert.match(refuseModelEnv('LLAMA_ARG_CACHE_TYPEK') ?? '', /^LLAMA_ARG_CACHE_TYPE_K,/);
});

test('a variable that llama-server had before is led to its successor', () => {
  assert.match(refuseModelEnv('LLAMA_ARG_DRAFT_MAX') ?? '', /^LLAMA_ARG_SPEC_DRAFT_N_MAX instead/);
  for (const name of ['LLAMA_ARG_DRAFT_MIN', 'LLAMA_ARG_DRAFT_P_MIN']) {
    const [successor = ''] = refuseModelEnv(name)?.split(' ') ?? [];
    assert.equal(refuseModelEnv(successor), null);
  }
});

const inEnv = (line: string) => `models:\n  chat:\n    file: a.gguf\n    env:\n      ${line}`;

test('a wrong value is told with its line, key, value and what was expected', () => {
  const [problem, ...others] = problemsOf(inEnv('LLAMA_ARG_BATCH: abc'));
  assert.deepEqual(others, []);
  assert.equal(
    problem?.text,
    'llamastead.yaml:5: models.chat.env.LLAMA_ARG_BATCH: wrong value "abc"; expected a whole number, at least 2',
  );
  const texts = problemsOf(
    inEnv('LLAMA_ARG_CACHE_TYPE_K: q8\n    gpu: {env: {LLAMA_ARG_THINK: yes, LLAMA_ARG_TEMPERATURE: "0,7"}}'),
  ).map(({ key, value, line }) => [line, key, value]);
  assert.deepEqual(texts, [
    [5, 'models.chat.env.LLAMA_ARG_CACHE_TYPE_K', '"q8"'],
    [6, 'models.chat.gpu.env.LLAMA_ARG_THINK', '"yes"'],
    [6, 'models.chat.gpu.env.LLAMA_ARG_TEMPERATURE', '"0,7"'],
  ]);
});

test('numbers and switches may be written as YAML has them', () => {
  for (const line of [
    'LLAMA_ARG_BATCH: 512',
    'LLAMA_ARG_JINJA: true',
    'LLAMA_ARG_FLASH_ATTN: off',
    'LLAMA_ARG_ROPE_FREQ_BASE: 1000000.0',
    'LLAMA_ARG_MIN_P: 1e-3',
    'LLAMA_ARG_THINK_BUDGET: -1',
    `LLAMA_ARG_CHAT_TEMPLATE_KWARGS: '{"enable_thinking": false}'`,
  ])
    assert.deepEqual(problemsOf(inEnv(line)), [], line);
});

test('a quantised V where flash attention is off is told where it stands, once', () => {
  const off = 'LLAMA_ARG_FLASH_ATTN: off';
  const quantised = 'LLAMA_ARG_CACHE_TYPE_V: q8_0';
  const keys = (text: string) => problemsOf(text).map(({ key }) => key);
  assert.deepEqual(keys(inEnv(`${off}\n      ${quantised}`)), ['models.chat.env.LLAMA_ARG_CACHE_TYPE_V']);
  assert.deepEqual(keys(inEnv(`${off}\n    cpu: {env: {${quantised}}}`)), [
    'models.chat.cpu.env.LLAMA_ARG_CACHE_TYPE_V',
  ]);
  assert.deepEqual(keys(inEnv(`${quantised}\n    cpu: {env: {${off}}}`)), [
    'models.chat.env.LLAMA_ARG_CACHE_TYPE_V',
  ]);
  assert.deepEqual(keys(inEnv(`${quantised}\n    cpu: {env: {LLAMA_ARG_FLASH_ATTN: on}}`)), []);
  assert.deepEqual(keys(inEnv(`${off}\n      LLAMA_ARG_CACHE_TYPE_V: bf16`)), []);
});

test('what is taken as a size of batches, a number of saved points or a KV type is what the planner reads', () => {
  const takes = (name: string, value: string) => refuseModelValue(name, value) === null;
  const launched = (env: Record<string, string>) => launchOf(profileOf({ env, task: 'chat' }));
  const values = fc.oneof(
    fc.integer({ min: -3, max: 5_000 }).map(String),
    fc.string({ unit: fc.constantFrom('0', '1', '2', ' ', '.', '-', '+', 'e', 'x'), maxLength: 6 }),
  );
  fc.assert(
    fc.property(values, (value) => {
      if (takes('LLAMA_ARG_UBATCH', value))
        assert.equal(
          launched({ LLAMA_ARG_UBATCH: value, LLAMA_ARG_BATCH: '999999' }).microBatch,
          Math.min(Number(value), 999_999),
        );
      if (takes('LLAMA_ARG_BATCH', value))
        assert.equal(launched({ LLAMA_ARG_BATCH: value }).microBatch, Math.min(Number(value), 512));
      if (takes('LLAMA_ARG_CTX_CHECKPOINTS', value))
        assert.equal(launched({ LLAMA_ARG_CTX_CHECKPOINTS: value }).checkpoints, Number(value));
    }),
    { numRuns: 2_000 },
  );
  const types = ENV_FORMS.get('LLAMA_ARG_CACHE_TYPE_K')?.expected.replace('one of ', '').split(', ') ?? [];
  assert.equal(types.length, 9);
  for (const type of types) assert.notEqual(elementBytes(type), undefined, type);
  for (const word of ['off', 'false', 'disabled', '0'])
    assert.equal(launched({ LLAMA_ARG_FLASH_ATTN: word }).flashAttention, false, word);
  assert.equal(load(inEnv('LLAMA_ARG_UBATCH: 64')).notices.length, 0);
});
