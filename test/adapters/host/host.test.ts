import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { cp, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { deviceMemory } from '../../../app/adapters/host/device-memory.ts';
import { detectGpus } from '../../../app/adapters/host/gpus.ts';
import { host } from '../../../app/adapters/host/memory.ts';
import { gpusInUse } from '../../../app/core/gpu-detection.ts';
import { temporaryFolder } from '../../support/temporary.ts';

const fixtures = new URL('../../fixtures/host/', import.meta.url);
const machines: Record<string, { readonly files: Record<string, string> }> = JSON.parse(
  readFileSync(new URL('cards.json', fixtures), 'utf8'),
);

async function rootOf(t: TestContext, machine: string): Promise<string> {
  const root = await temporaryFolder(t);
  for (const [file, text] of Object.entries(machines[machine]?.files ?? {})) {
    await mkdir(dirname(join(root, file)), { recursive: true });
    await writeFile(join(root, file), text);
  }
  return root;
}

async function detect(t: TestContext, machine: string) {
  const root = await rootOf(t, machine);
  return detectGpus({ sys: join(root, 'sys'), proc: join(root, 'proc') });
}

test('integrated graphics alone are offered with the reason, not switched on', async (t) => {
  const gpus = await detect(t, 'zimaboard');
  assert.equal(gpus.length, 1);
  const [only] = gpus;
  assert.deepEqual(only?.gpu, {
    name: 'Intel graphics 46d4',
    kind: 'intel',
    engine: 'local',
    devices: ['Vulkan0'],
    env: {},
    memory: 'shared',
    total: null,
    headroom: 512 * 1024 * 1024,
    cards: { Vulkan0: '0000:00:02.0' },
  });
  assert.equal(only?.use, 'offered');
  assert.match(only?.why ?? '', /only when the configuration names it/);
  assert.deepEqual(only?.nodes, ['/dev/dri/card0', '/dev/dri/renderD128']);
  assert.deepEqual(gpusInUse(gpus), []);
});

test('an NVIDIA card is used, the integrated graphics beside it are hidden', async (t) => {
  const gpus = await detect(t, 'zimacube');
  assert.deepEqual(
    gpus.map(({ gpu, use }) => [gpu.name, gpu.kind, gpu.devices, gpu.memory, use]),
    [
      ['Intel graphics 46a6', 'intel', ['Vulkan0'], 'shared', 'hidden'],
      ['NVIDIA RTX A2000', 'nvidia', ['CUDA0'], 'dedicated', 'on'],
    ],
  );
  assert.deepEqual(
    gpusInUse(gpus).map(({ name }) => name),
    ['NVIDIA RTX A2000'],
  );
  assert.deepEqual(gpus[1]?.nodes, []);
});

test('several NVIDIA cards are numbered in the order of the bus, and told to be', async (t) => {
  const gpus = gpusInUse(await detect(t, 'nvidiaTwo'));
  assert.deepEqual(
    gpus.map(({ name, devices, env }) => [name, devices, env]),
    [
      ['NVIDIA GeForce RTX 3060', ['CUDA0'], { CUDA_DEVICE_ORDER: 'PCI_BUS_ID' }],
      ['Tesla T4', ['CUDA1'], { CUDA_DEVICE_ORDER: 'PCI_BUS_ID' }],
    ],
  );
});

test('a card without its driver is a problem with a fix, and hides nothing', async (t) => {
  const gpus = await detect(t, 'nvidiaNoDriver');
  const card = gpus.find(({ gpu }) => gpu.kind === 'nvidia');
  assert.equal(card?.use, 'unusable');
  assert.equal(card?.problem?.code, 'gpu_driver_missing');
  assert.match(card?.problem?.text ?? '', /nouveau/);
  assert.equal(gpus.find(({ integrated }) => integrated)?.use, 'offered');
});

test('a Radeon card is used by ROCm with its memory, the processor’s graphics are hidden', async (t) => {
  const gpus = await detect(t, 'amd');
  assert.deepEqual(
    gpus.map(({ gpu, use }) => [gpu.kind, gpu.devices, gpu.memory, gpu.total, use]),
    [
      ['amd', ['ROCm0'], 'dedicated', 12868124672, 'on'],
      ['vulkan', ['Vulkan0'], 'shared', null, 'hidden'],
    ],
  );
  assert.deepEqual(gpus[0]?.nodes, ['/dev/dri/card1', '/dev/dri/renderD129']);
});

test('amdgpu tells the memory of each card, by the address that its GPU has', async (t) => {
  const root = await rootOf(t, 'amd');
  const sys = join(root, 'sys');
  const radeon = (file: string, text: string) =>
    writeFile(join(sys, 'bus/pci/devices/0000:03:00.0', file), text);
  const { cards, fresh } = deviceMemory({ sys });
  assert.deepEqual(await cards(), {}, 'a size alone says nothing of what is free');
  await radeon('mem_info_vram_used', '12000000000\n');
  assert.deepEqual(await cards(), { '0000:03:00.0': { total: 12868124672, used: 12000000000 } });
  assert.deepEqual(await fresh(), await cards());
  const [gpu] = gpusInUse(await detectGpus({ sys, proc: join(root, 'proc') }));
  assert.deepEqual(gpu?.cards, { ROCm0: '0000:03:00.0' });
  for (const unreadable of ['', 'busy\n', '-1\n']) {
    await radeon('mem_info_vram_used', unreadable);
    assert.deepEqual(await cards(), {}, unreadable);
  }
});

test('NVIDIA’s driver and the kernel’s own for Intel tell no card’s use in sysfs, and nothing is guessed', async (t) => {
  for (const machine of ['zimacube', 'nvidiaTwo', 'arc', 'none']) {
    const { cards } = deviceMemory({ sys: join(await rootOf(t, machine), 'sys') });
    assert.deepEqual(await cards(), {}, machine);
  }
});

const ARC = '0000:03:00.0';

/** The machine with an Intel card, with more files: names below sysfs. */
async function arc(t: TestContext, files: Readonly<Record<string, string>>) {
  const root = await rootOf(t, 'arc');
  const sys = join(root, 'sys');
  for (const [file, text] of Object.entries(files)) {
    await mkdir(dirname(join(sys, file)), { recursive: true });
    await writeFile(join(sys, file), text);
  }
  const gpus = await detectGpus({ sys, proc: join(root, 'proc') });
  return { cards: await deviceMemory({ sys }).cards(), gpu: gpusInUse(gpus)[0] };
}

describe('an Intel card tells its memory', () => {
  const LMEM = `bus/pci/devices/${ARC}/drm/card1/lmem`;
  const CAPACITY = 'fs/cgroup/dmem.capacity';
  const regions = (vram0: number, more = '') =>
    `drm/${ARC}/vram0 ${vram0}\ndrm/${ARC}/stolen 8650752\n${more}`;

  test('by Intel’s own driver, beside its card', async (t) => {
    const { cards, gpu } = await arc(t, {
      [`${LMEM}_total_bytes`]: '17179869184\n',
      [`${LMEM}_avail_bytes`]: '16000000000\n',
    });
    assert.deepEqual(cards, { [ARC]: { total: 17179869184, used: 1179869184 } });
    assert.equal(gpu?.total, 17179869184);
    assert.deepEqual(gpu?.cards, { Vulkan0: ARC });
  });

  test('by the dmem controller, summed over the cgroups below the root', async (t) => {
    const { cards } = await arc(t, {
      [CAPACITY]: regions(8514437120),
      'fs/cgroup/system.slice/dmem.current': regions(12550144),
      'fs/cgroup/docker/dmem.current': regions(5_000_000_000, 'drm/0000:09:00.0/vram 7\n'),
      'fs/cgroup/init.scope/dmem.current': '',
      'fs/cgroup/docker/abc/dmem.current': regions(5_000_000_000),
    });
    assert.deepEqual(cards, { [ARC]: { total: 8514437120, used: 5_012_550_144 } });
  });

  test('with both tiles of one that has two', async (t) => {
    const two = (each: number) => regions(each, `drm/${ARC}/vram1 ${each}\n`);
    const { cards } = await arc(t, { [CAPACITY]: two(8), 'fs/cgroup/docker/dmem.current': two(3) });
    assert.deepEqual(cards, { [ARC]: { total: 16, used: 6 } });
  });

  for (const [why, files] of [
    ['one of the two figures is missing', { [`${LMEM}_total_bytes`]: '17179869184\n' }],
    ['more is free than there is', { [`${LMEM}_total_bytes`]: '1\n', [`${LMEM}_avail_bytes`]: '2\n' }],
    ['the controller is off below the root', { [CAPACITY]: regions(8), 'fs/cgroup/docker/cpu.stat': '' }],
    ['only a container’s own cgroup is seen', { 'fs/cgroup/dmem.current': regions(8) }],
    [
      'the kernel writes something else',
      { [CAPACITY]: `drm/${ARC}/vram0 max\n`, 'fs/cgroup/docker/dmem.current': regions(8) },
    ],
  ] as const) {
    test(`not where ${why}`, async (t) => assert.deepEqual((await arc(t, files)).cards, {}));
  }
});

test('without ROCm’s kernel interface a Radeon card is used by Vulkan', async (t) => {
  const files = machines['amd']?.files ?? {};
  const without = Object.fromEntries(Object.entries(files).filter(([file]) => !file.includes('kfd')));
  machines['amdWithoutKfd'] = { files: without };
  assert.deepEqual(
    gpusInUse(await detect(t, 'amdWithoutKfd')).map(({ kind }) => kind),
    ['vulkan'],
  );
});

test('an Arc card is discrete, graphics on the root bus are not', async (t) => {
  const gpus = await detect(t, 'arc');
  assert.deepEqual(
    gpus.map(({ gpu, use }) => [gpu.kind, gpu.devices, gpu.memory, use]),
    [
      ['intel', ['Vulkan0'], 'shared', 'hidden'],
      ['intel', ['Vulkan0'], 'dedicated', 'on'],
    ],
  );
});

test('management graphics and a machine without a bus have no GPU', async (t) => {
  assert.deepEqual(await detect(t, 'server'), []);
  assert.deepEqual(await detect(t, 'none'), []);
});

test('the host’s memory and pressure are read from procfs', async (t) => {
  const proc = await temporaryFolder(t);
  const put = async (file: string, fixture: string) => {
    await mkdir(dirname(join(proc, file)), { recursive: true });
    await cp(new URL(fixture, fixtures), join(proc, file));
  };
  await put('meminfo', 'meminfo-zimaboard.txt');
  const { sample, pressure } = host({ proc });
  const plain = await sample();
  assert.equal(plain.total, 7954348 * 1024);
  assert.deepEqual(await pressure(), { pressure: null, paging: null });
  await put('spl/kstat/zfs/arcstats', 'arcstats.txt');
  await put('pressure/memory', 'pressure-memory.txt');
  await put('vmstat', 'vmstat.txt');
  assert.ok((await sample()).available > plain.available);
  const read = await pressure();
  assert.equal(read.pressure?.some.avg10, 12.5);
  assert.equal(read.paging?.swappedIn, 5120);
});

test('a procfs without memory figures is an error, not a zero', async (t) => {
  const proc = await temporaryFolder(t);
  await assert.rejects(host({ proc }).sample(), { code: 'host_unreadable' });
});

test('this machine’s own procfs and sysfs are readable', async () => {
  const { total, available } = await host().sample();
  assert.ok(available > 0 && available <= total);
  assert.ok(Array.isArray(await detectGpus()));
});
