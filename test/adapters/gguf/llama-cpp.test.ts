/** The estimate against llama.cpp itself, in the images that instances run from. */
import assert from 'node:assert/strict';
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { before, type TestContext, test } from 'node:test';
import { estimator } from '../../../app/adapters/gguf/estimator.ts';
import type { Need, NeedPart, Profile } from '../../../app/core/types.ts';
import { type Bench, ensureBench } from '../../home/bench.ts';
import { modelSpec, SHAPES, type ShapeName } from '../../support/gguf-shapes.ts';
import { writeGguf } from '../../support/gguf-writer.ts';
import { profileOf } from '../../support/profiles.ts';
import { temporaryFolder } from '../../support/temporary.ts';

const MIB = 1024 * 1024;
let bench: Bench;
before(async () => {
  bench = await ensureBench();
});

/** Runs a script in an image with the folder at /m; what it prints. */
async function inContainer(image: string, folder: string, script: string): Promise<string> {
  const args = ['--rm', '--init', '--network', 'none', '--env', 'GGML_VK_VISIBLE_DEVICES=0'];
  const mount = ['--volume', `${folder}:/m:ro`];
  return bench.docker.run(['run', ...args, ...mount, '--entrypoint', 'sh', image, '-c', script]);
}

/** What an instance with no need for saved points would take, MiB by device and part. */
async function planned(folder: string, change: Partial<Profile>) {
  const env = { LLAMA_ARG_CTX_CHECKPOINTS: '0' };
  const profile = profileOf({ env, hash: JSON.stringify(change), ...change });
  const need: Need = await estimator({ modelsFolder: folder }).need(profile);
  return (device: string, what: NeedPart['what']) =>
    need.parts
      .filter((part) => part.device === device && part.what === what)
      .reduce((total, { bytes }) => total + bytes, 0) / MIB;
}

async function folderFor(t: TestContext, write: (folder: string) => Promise<void>): Promise<string> {
  const folder = await temporaryFolder(t);
  await chmod(folder, 0o755);
  await write(folder);
  return folder;
}

test('weights and context of every shape are those of llama-fit-params on the CPU', async (t) => {
  const names = Object.keys(SHAPES) as ShapeName[];
  const folder = await folderFor(t, async (folder) => {
    for (const name of names) await writeGguf(join(folder, `${name}.gguf`), modelSpec(SHAPES[name]));
  });
  const fit = (name: string) =>
    `echo ${name} $(/app/llama-fit-params -m /m/${name}.gguf -c 16384 -np 2 -dev none --fit-print on 2>/dev/null)`;
  const printed = await inContainer(bench.images.cpu, folder, names.map(fit).join('; '));
  for (const name of names) {
    const line = new RegExp(`^${name} Host (\\d+) (\\d+) \\d+`, 'm').exec(printed);
    assert.ok(line, printed);
    const part = await planned(folder, { file: `${name}.gguf`, context: 8192, parallel: 2 });
    near(part('host', 'weights'), Number(line[1]), `${name} weights`);
    near(part('host', 'kv'), Number(line[2]), `${name} context`);
  }
});

test('weights and context on the device are those of llama-fit-params on Vulkan', async (t) => {
  // The bench's device refuses a matrix over 128 MiB, so the vocabulary is small here.
  const shape = { ...SHAPES.EIGHT_B, vocabulary: 4096 };
  const folder = await folderFor(t, (folder) => writeGguf(join(folder, 'model.gguf'), modelSpec(shape)));
  const fit =
    '/app/llama-fit-params -m /m/model.gguf -c 8192 -np 1 -dev Vulkan0 -ngl 999 --fit-print on 2>/dev/null';
  const printed = await inContainer(bench.images.vulkan, folder, fit);
  const line = /^Vulkan0 (\d+) (\d+) \d+/m.exec(printed);
  assert.ok(line, printed);
  const part = await planned(folder, { placement: 'gpu' });
  near(part('Vulkan0', 'weights'), Number(line[1]), 'weights');
  near(part('Vulkan0', 'kv'), Number(line[2]), 'context');
});

test('the buffers that a running llama-server reports are planned for, on CPU and GPU', async () => {
  const serve = [
    '/app/llama-server -c 16384 -np 2 --no-warmup -fit off -lv 4 --port 8080 >/tmp/log 2>&1 "$@" & pid=$!',
    'for i in $(seq 200); do wget -qO /dev/null http://127.0.0.1:8080/health && break; sleep 0.1; done',
    'kill -9 $pid; cat /tmp/log',
  ].join('\n');
  const cases = [
    { image: bench.images.cpu, placement: 'cpu' as const, device: 'CPU', name: 'host', args: '-dev none' },
    {
      image: bench.images.vulkan,
      placement: 'gpu' as const,
      device: 'Vulkan0',
      name: 'Vulkan0',
      // The batch of a real card: the bench's own device takes token by token.
      args: '-dev Vulkan0 -ngl 999 -ub 512',
    },
  ];
  for (const file of [bench.tinyFile, bench.chatFile]) {
    for (const { image, placement, device, name, args } of cases) {
      const script = `set -- -m /m/${file} ${args}\n${serve}`;
      const log = await inContainer(image, bench.modelsDir, script);
      const part = await planned(bench.modelsDir, { file, placement, context: 8192, parallel: 2 });
      const said = `${file} ${placement}`;
      near(part(name, 'kv'), buffer(log, `${device} KV buffer`), `${said} context`);
      near(part('host', 'weights'), buffer(log, 'CPU_Mapped model buffer'), `${said} mapped weights`);
      const compute = buffer(log, `${device} compute buffer`);
      assert.ok(part(name, 'compute') >= compute - 0.2, `${said} compute ${compute}`);
      assert.ok(part(name, 'compute') <= compute + 10, `${said} compute ${compute}`);
    }
  }
});

/** MiB of a buffer in the server's log, summed over its lines. */
function buffer(log: string, name: string): number {
  const lines = [...log.matchAll(new RegExp(`${name} size = +([\\d.]+) MiB`, 'g'))];
  assert.ok(lines.length > 0, `no "${name}" in:\n${log.slice(-2000)}`);
  return lines.reduce((total, [, mib]) => total + Number(mib), 0);
}

function near(planned: number, seen: number, what: string): void {
  assert.ok(Math.abs(planned - seen) < 1.5, `${what}: planned ${planned.toFixed(2)} MiB, seen ${seen} MiB`);
}
