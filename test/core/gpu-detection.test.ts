/** Which cards of a machine are given to instances, under which name, and why the others are not. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Card, gpusInUse, judgeCards } from '../../app/core/gpu-detection.ts';
import { GIB, MIB } from '../support/model.ts';

const card = (more: Partial<Card>): Card => ({
  pci: '0000:01:00.0',
  vendor: 0,
  device: 0,
  driver: null,
  nodes: [],
  vram: null,
  vramVendor: null,
  model: null,
  ...more,
});
const RTX = card({ vendor: 0x10de, device: 0x2531, driver: 'nvidia', model: 'NVIDIA RTX A2000' });
const ONBOARD = card({
  pci: '0000:00:02.0',
  vendor: 0x8086,
  device: 0x46d4,
  driver: 'i915',
  nodes: ['renderD128', 'card0'],
});
const ARC = card({
  pci: '0000:03:00.0',
  vendor: 0x8086,
  device: 0x56a5,
  driver: 'xe',
  nodes: ['card1', 'renderD129'],
  vram: 6 * GIB,
});
const RADEON = card({
  pci: '0000:04:00.0',
  vendor: 0x1002,
  device: 0x73df,
  driver: 'amdgpu',
  nodes: ['card2', 'renderD130'],
  vram: 12 * GIB,
  vramVendor: 'samsung',
});
const RYZEN = card({
  pci: '0000:0c:00.0',
  vendor: 0x1002,
  device: 0x164e,
  driver: 'amdgpu',
  nodes: ['card3'],
  vram: GIB / 2,
});
const MANAGEMENT = card({ pci: '0000:02:00.0', vendor: 0x1a03, device: 0x2000, driver: 'ast' });

const judged = (cards: readonly Card[], hasKfd = true) => judgeCards(cards, { hasKfd });

describe('one card alone', () => {
  for (const [what, own, hasKfd, gpu, verdict] of [
    [
      'NVIDIA’s by CUDA, in the order of the bus; Docker adds its files',
      { ...RTX, nodes: ['card0'] },
      false,
      {
        name: 'NVIDIA RTX A2000',
        kind: 'nvidia',
        devices: ['CUDA0'],
        env: { CUDA_DEVICE_ORDER: 'PCI_BUS_ID' },
        memory: 'dedicated',
        total: null,
        cards: { CUDA0: '0000:01:00.0' },
      },
      { use: 'on', integrated: false, nodes: [] },
    ],
    [
      'Intel’s on the root bus shares the host’s memory and is only offered',
      ONBOARD,
      true,
      {
        name: 'Intel graphics 46d4',
        kind: 'intel',
        devices: ['Vulkan0'],
        env: {},
        memory: 'shared',
        total: null,
        cards: { Vulkan0: '0000:00:02.0' },
      },
      { use: 'offered', integrated: true, nodes: ['/dev/dri/card0', '/dev/dri/renderD128'] },
    ],
    [
      'Intel’s elsewhere is a card of its own',
      ARC,
      true,
      {
        name: 'Intel graphics 56a5',
        kind: 'intel',
        devices: ['Vulkan0'],
        env: {},
        memory: 'dedicated',
        total: 6 * GIB,
        cards: { Vulkan0: '0000:03:00.0' },
      },
      { use: 'on', integrated: false, nodes: ['/dev/dri/card1', '/dev/dri/renderD129'] },
    ],
    [
      'AMD’s by ROCm where the kernel has its interface',
      RADEON,
      true,
      {
        name: 'AMD graphics 73df',
        kind: 'amd',
        devices: ['ROCm0'],
        env: {},
        memory: 'dedicated',
        total: 12 * GIB,
        cards: { ROCm0: '0000:04:00.0' },
      },
      { use: 'on', integrated: false, nodes: ['/dev/dri/card2', '/dev/dri/renderD130'] },
    ],
    [
      'AMD’s by Vulkan where it has not',
      RADEON,
      false,
      {
        name: 'AMD graphics 73df',
        kind: 'vulkan',
        devices: ['Vulkan0'],
        env: {},
        memory: 'dedicated',
        total: 12 * GIB,
        cards: { Vulkan0: '0000:04:00.0' },
      },
      { use: 'on', integrated: false, nodes: ['/dev/dri/card2', '/dev/dri/renderD130'] },
    ],
    [
      'AMD’s without a maker of memory shares the host’s, and is no card for ROCm',
      { ...RYZEN, device: 0x2a },
      true,
      {
        name: 'AMD graphics 002a',
        kind: 'vulkan',
        devices: ['Vulkan0'],
        env: {},
        memory: 'shared',
        total: null,
        cards: { Vulkan0: '0000:0c:00.0' },
      },
      { use: 'offered', integrated: true, nodes: ['/dev/dri/card3'] },
    ],
  ] as const) {
    test(what, () => {
      const [only, ...others] = judged([own], hasKfd);
      assert.ok(only !== undefined && others.length === 0);
      const { gpu: made, use, integrated, nodes, problem, pci } = only;
      assert.deepEqual(made, { ...gpu, engine: 'local', headroom: 512 * MIB });
      assert.deepEqual({ use, integrated, nodes }, verdict);
      assert.equal(pci, own.pci);
      assert.equal(problem, null);
    });
  }

  test('AMD’s whose maker of memory is not known shares the host’s', () => {
    assert.equal(judged([{ ...RADEON, vramVendor: 'unknown' }])[0]?.integrated, true);
  });

  test('that is no graphics card for models is none', () => {
    assert.deepEqual(judged([MANAGEMENT]), []);
  });

  test('belongs to the engine whose machine was looked at', () => {
    const [there] = judgeCards([RTX], { hasKfd: false, engine: 'tower' });
    assert.equal(there?.gpu.engine, 'tower');
  });
});

describe('several cards', () => {
  for (const [what, cards, expected] of [
    [
      'cards are numbered in the order of the bus, whatever the order that they are listed in',
      [{ ...RTX, pci: '0000:41:00.0' }, RTX, { ...RTX, pci: '0000:21:00.0' }],
      [
        ['0000:01:00.0', 'CUDA0', 'on'],
        ['0000:21:00.0', 'CUDA1', 'on'],
        ['0000:41:00.0', 'CUDA2', 'on'],
      ],
    ],
    [
      'each backend counts its own',
      [RADEON, RTX, ARC],
      [
        ['0000:01:00.0', 'CUDA0', 'on'],
        ['0000:03:00.0', 'Vulkan0', 'on'],
        ['0000:04:00.0', 'ROCm0', 'on'],
      ],
    ],
    [
      'integrated graphics beside a card are left alone, and not counted by the backend',
      [ARC, ONBOARD],
      [
        ['0000:00:02.0', 'Vulkan0', 'hidden'],
        ['0000:03:00.0', 'Vulkan0', 'on'],
      ],
    ],
    [
      'integrated graphics beside each other are all offered',
      [RYZEN, ONBOARD],
      [
        ['0000:00:02.0', 'Vulkan0', 'offered'],
        ['0000:0c:00.0', 'Vulkan1', 'offered'],
      ],
    ],
    [
      'a card that cannot be used hides nothing, and is not counted',
      [ONBOARD, { ...RTX, driver: 'nouveau' }, { ...RTX, pci: '0000:21:00.0', driver: 'vfio-pci' }],
      [
        ['0000:00:02.0', 'Vulkan0', 'offered'],
        ['0000:01:00.0', 'CUDA0', 'unusable'],
        ['0000:21:00.0', 'CUDA0', 'unusable'],
      ],
    ],
    [
      'a card that cannot be used takes no number from those that can',
      [
        { ...RTX, driver: null },
        { ...RTX, pci: '0000:21:00.0' },
      ],
      [
        ['0000:01:00.0', 'CUDA0', 'unusable'],
        ['0000:21:00.0', 'CUDA0', 'on'],
      ],
    ],
  ] as const) {
    test(what, () => {
      const told = judged(cards).map(({ pci, gpu, use }) => [pci, gpu.devices[0], use]);
      assert.deepEqual(told, expected);
    });
  }

  test('only cards that are on are used unasked', () => {
    const used = gpusInUse(judged([ONBOARD, RTX, { ...RADEON, driver: null }]));
    assert.deepEqual(
      used.map(({ name }) => name),
      ['NVIDIA RTX A2000'],
    );
  });
});

describe('a driver', () => {
  for (const [own, driver] of [
    [ONBOARD, 'i915'],
    [ONBOARD, 'xe'],
    [RTX, 'nvidia'],
    [RADEON, 'amdgpu'],
  ] as const) {
    test(`${driver} runs models on ${own.model ?? own.device.toString(16)}`, () => {
      assert.equal(judged([{ ...own, driver }])[0]?.problem, null);
    });
  }

  for (const [what, own, gpu, text, fix, params] of [
    [
      'that is not loaded is named with the card',
      { ...RADEON, driver: null },
      'AMD graphics (0000:04:00.0)',
      'The driver of AMD graphics (0000:04:00.0) is not loaded.',
      'Load the kernel driver amdgpu on the host.',
      { driver: '', needed: 'amdgpu' },
    ],
    [
      'of another kind is named, and which ones would do',
      { ...ARC, driver: 'vfio-pci' },
      'Intel graphics (0000:03:00.0)',
      'Intel graphics (0000:03:00.0) is held by the driver vfio-pci, which cannot run models.',
      'Load the kernel driver i915 or xe on the host.',
      { driver: 'vfio-pci', needed: 'i915 or xe' },
    ],
    [
      'of NVIDIA’s comes with its container toolkit',
      { ...RTX, driver: 'nouveau' },
      'NVIDIA RTX A2000',
      'NVIDIA RTX A2000 is held by the driver nouveau, which cannot run models.',
      'Install the NVIDIA driver and its container toolkit on the host, then restart it.',
      { driver: 'nouveau', needed: 'nvidia' },
    ],
  ] as const) {
    test(what, () => {
      const [only] = judged([own]);
      assert.deepEqual(only?.problem, {
        code: 'gpu_driver_missing',
        about: own.pci,
        text,
        fix,
        params: { gpu, ...params },
      });
      assert.deepEqual([only?.use, only?.why], ['unusable', text]);
    });
  }
});

test('each verdict says why in words of its own', () => {
  const whys = [
    ...judged([ONBOARD, RTX]),
    ...judged([ONBOARD]),
    ...judged([{ ...RTX, driver: null, model: null }]),
  ].map(({ why }) => why);
  assert.deepEqual(whys, [
    'Integrated graphics beside a graphics card: left alone.',
    'A graphics card with memory of its own.',
    'Integrated graphics: it uses the host’s RAM and may be slower than the CPU, so it is used only when the configuration names it.',
    'The driver of NVIDIA (0000:01:00.0) is not loaded.',
  ]);
});
