import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allowedModelEnv, refuseModelEnv } from '../../app/config/model-env.ts';
import { problemsOf } from './support.ts';

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
  for (const name of allowedModelEnv()) assert.doesNotMatch(name, risky, name);
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
