import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { detectGpus } from '../../app/adapters/host/gpus.ts';
import { parseConfig } from '../../app/config.ts';
import type { DetectedGpu } from '../../app/core/gpu-detection.ts';
import type { Input } from '../../app/core/inputs.ts';
import { problemKey } from '../../app/core/problem.ts';
import type { Problem } from '../../app/core/types.ts';
import type { JsonFile } from '../../app/ports.ts';
import { policySource } from '../../app/serve/policy-source.ts';
import { load, modelFile, nothingOutside } from '../config/support.ts';
import { temporaryFolder } from '../support/temporary.ts';

/** One document in memory. */
function memoryFile(): JsonFile {
  let kept: unknown;
  return {
    read: async () => (kept === undefined ? { found: 'nothing' } : { found: 'data', data: kept }),
    async write(data) {
      kept = data;
    },
    keepAside: async () => 'aside',
  };
}

async function home(
  text: string | null = null,
  problems: readonly Problem[] = [],
  detectGpus: () => Promise<readonly DetectedGpu[]> = async () => [],
  filesThere: () => Promise<readonly string[]> = async () => ['chat.gguf'],
) {
  const inputs: Input[] = [];
  const source = await policySource({
    loaded: load(text),
    settingsFile: memoryFile(),
    modelFiles: {
      scan: async () => ({ files: (await filesThere()).map((file) => modelFile(file)), problems }),
    },
    detectGpus,
    cores: 4,
    submit: (input) => inputs.push(input),
  });
  const parsed = (next: string) => parseConfig(next, 'llamastead.yaml', nothingOutside);
  const reloads = () =>
    inputs.filter((input) => input.type === 'configured' && input.why === 'reload').length;
  return { source, inputs, reload: (next: string) => source.reload(parsed(next)), reloads };
}

test('one changed file is one reload, however often it is read', async () => {
  const { reload, reloads } = await home('queue: {depth: 3}');
  await reload('queue: {depth: 3}');
  assert.equal(reloads(), 0);
  await Promise.all([reload('queue: {depth: 4}'), reload('queue: {depth: 4}')]);
  await reload('queue: {depth: 4}');
  assert.equal(reloads(), 1);
  await reload('queue: {depth: 3}');
  assert.equal(reloads(), 2);
});

test('keys that wait for a restart are told once, and taken back with the file', async () => {
  const { inputs, reload, reloads } = await home('listen: {port: 1}');
  const waits = () =>
    inputs.filter((each) => each.type === 'problem_seen' && each.problem.code === 'restart_needed');
  const gone = () => inputs.filter((each) => each.type === 'problem_gone' && each.code === 'restart_needed');
  await reload('listen: {port: 2}');
  await reload('listen: {port: 2}');
  assert.equal(reloads(), 1);
  assert.equal(new Set(waits()).size > 0, true);
  assert.equal(gone().length, 0);
  await reload('listen: {port: 1}');
  assert.equal(gone().length, 1);
});

test('a file that became right again without a change is no reload, and its problem is gone', async () => {
  const { inputs, reload, reloads } = await home('queue: {depth: 3}');
  await reload('queue: {depth: many}');
  assert.ok(inputs.some((each) => each.type === 'problem_seen' && each.problem.code === 'config_invalid'));
  await reload('queue: {depth: 3}');
  assert.equal(reloads(), 0);
  assert.ok(inputs.some((each) => each.type === 'problem_gone' && each.code === 'config_invalid'));
});

test('a changed setting comes with the policy that it made, once', async () => {
  const { source, inputs } = await home();
  inputs.length = 0;
  await source.settings.setAll({ 'queue.depth': 5, 'models.chat.mode': 'cpu' });
  const made = inputs.filter((input) => input.type === 'configured');
  assert.equal(made.length, 1);
  assert.deepEqual(
    made[0]?.settings?.map(({ key, to }) => [key, to]),
    [
      ['queue.depth', 5],
      ['models.chat.mode', 'cpu'],
    ],
  );
  assert.equal(made[0]?.policy.queue.depth, 5);
});

/** A machine with an NVIDIA card whose driver is not loaded yet. */
async function withoutDriver(t: TestContext) {
  const root = await temporaryFolder(t);
  const slot = join(root, 'sys/bus/pci/devices/0000:01:00.0');
  await mkdir(slot, { recursive: true });
  const write = (file: string, text: string) => writeFile(join(slot, file), text);
  await write('class', '0x030000');
  await write('vendor', '0x10de');
  await write('device', '0x2504');
  const sources = { sys: join(root, 'sys'), proc: join(root, 'proc') };
  return { detect: () => detectGpus(sources), loadDriver: () => write('uevent', 'DRIVER=nvidia') };
}

test('a graphics card that came is told only where the configuration may use it', async (t) => {
  for (const [gpus, told] of [
    ['[]', 0],
    ['[{name: card, kind: intel}]', 0],
    ['[{name: card, kind: nvidia}]', 1],
    ['[{name: card, kind: vulkan}]', 1],
    ['auto', 1],
  ] as const) {
    const { detect, loadDriver } = await withoutDriver(t);
    const { source, inputs } = await home(`gpus: ${gpus}`, [], detect);
    await loadDriver();
    await source.rescan();
    const came = inputs.flatMap((each) => (each.type === 'configured' ? (each.gpus ?? []) : []));
    assert.equal(came.length, told, gpus);
  }
});

test('a graphics card whose driver is loaded later is used, told once, and its problem is gone', async (t) => {
  const { detect, loadDriver } = await withoutDriver(t);
  const { source, inputs } = await home(null, [], detect);
  const missing = 'gpu_driver_missing::0000:01:00.0';
  const seen = inputs.flatMap((each) => (each.type === 'problem_seen' ? [problemKey(each.problem)] : []));
  assert.deepEqual(seen, [missing]);
  await source.rescan();
  await loadDriver();
  await source.rescan();
  await source.rescan();
  const made = inputs.flatMap((each) => (each.type === 'configured' ? [each] : []));
  assert.deepEqual(
    made.map(({ why, gpus, policy }) => [
      why,
      gpus?.map(({ name }) => name),
      [...policy.models.values()].map(({ profiles }) => Object.keys(profiles)),
    ]),
    [
      ['start', [], [['cpu']]],
      ['scan', ['NVIDIA 2504'], [['gpu', 'cpu']]],
    ],
  );
  const gone = inputs.flatMap((each) => (each.type === 'problem_gone' ? [problemKey(each)] : []));
  assert.deepEqual(gone, [missing]);
});

test('a look that took long does not undo what a later one found', async () => {
  let there = ['chat.gguf'];
  const slow = Promise.withResolvers<void>();
  let looks = 0;
  const { source, inputs } = await home(null, [], undefined, async () => {
    const seen = there;
    looks += 1;
    if (looks === 2) await slow.promise;
    return seen;
  });
  const first = source.rescan();
  there = ['chat.gguf', 'new.gguf'];
  const second = source.rescan();
  // What waits for nothing is through by then.
  await setImmediate();
  slow.resolve();
  await Promise.all([first, second]);
  const last = inputs.findLast((each) => each.type === 'configured');
  assert.deepEqual([...(last?.policy.models.keys() ?? [])], ['chat', 'new']);
});

test('each broken file is told, and so is each fault of a changed configuration', async () => {
  const cut = (about: string): Problem => ({ code: 'model_truncated', about, text: about, fix: '' });
  const { inputs, reload } = await home(null, [cut('a.gguf'), cut('b.gguf')]);
  await reload('queue: {depht: 3, deadline: soon}');
  const seen = inputs.flatMap((each) => (each.type === 'problem_seen' ? [problemKey(each.problem)] : []));
  const of = (code: string) => new Set(seen.filter((key) => key.startsWith(code))).size;
  assert.equal(of('model_truncated'), 2);
  assert.equal(of('config_invalid'), 2);
  await reload('queue: {depth: 3}');
  const gone = inputs.flatMap((each) => (each.type === 'problem_gone' ? [problemKey(each)] : []));
  assert.equal(new Set(gone).size, 2);
});
