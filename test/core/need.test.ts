import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { typeName } from '../../app/core/gguf-types.ts';
import { checkpointBytes } from '../../app/core/kv-cache.ts';
import { launchOf } from '../../app/core/launch.ts';
import { shapeOf } from '../../app/core/model-shape.ts';
import { needOf } from '../../app/core/need.ts';
import type { Need, NeedPart, Placement, Task } from '../../app/core/types.ts';
import {
  BERT_LARGE,
  EIGHT_B,
  F16,
  modelSpec,
  SHAPES,
  type Shape,
  type ShapeName,
} from '../support/gguf-shapes.ts';
import { bytesOf, MIB, needFor } from '../support/needs.ts';
import { parsed } from '../support/parsed-gguf.ts';
import { profileOf } from '../support/profiles.ts';
import { fc } from '../support/property.ts';

type Sizes = Partial<Record<NeedPart['what'] | 'output', number>>;
interface Measured {
  readonly placement: Placement;
  readonly task?: Task;
  readonly context: number;
  readonly parallel: number;
  readonly env: Record<string, string>;
  /** MiB. */
  readonly host: Sizes;
  readonly device?: Sizes;
}
interface Recorded {
  readonly cases: readonly (Measured & {
    readonly shape: ShapeName;
    readonly layers?: number;
    readonly vocabulary?: number;
  })[];
  readonly encoder: { readonly cases: readonly Measured[] };
  readonly fit: {
    readonly cases: readonly {
      readonly shape: ShapeName;
      readonly type?: string;
      readonly outputType?: string;
      readonly cacheType: string;
      readonly weights: number;
      readonly kv: number;
    }[];
  };
  readonly repack: { readonly rewritten: readonly string[]; readonly kept: readonly string[] };
  readonly checkpoints: {
    readonly cases: readonly { readonly shape: ShapeName; readonly layers: number; readonly bytes: number }[];
  };
}
const recorded: Recorded = JSON.parse(
  readFileSync(new URL('../fixtures/memory/llama-server-0.7.0.json', import.meta.url), 'utf8'),
);

const SMALL: Shape = { ...EIGHT_B, layers: 4, vocabulary: 4096 };

function typeNumber(name: string): number {
  for (let type = 0; type < 64; type += 1) if (typeName(type) === name) return type;
  throw new Error(`no type ${name}`);
}

test('the KV cache of 32 layers of 8 heads of 128 at 8192 tokens is 1024, 544 and 288 MiB', () => {
  const sizes = ['f16', 'q8_0', 'q4_0'].map((type) => {
    const env = { LLAMA_ARG_CACHE_TYPE_K: type, LLAMA_ARG_CACHE_TYPE_V: type };
    return bytesOf(needFor(EIGHT_B, { env }), 'host', 'kv') / MIB;
  });
  assert.deepEqual(sizes, [1024, 544, 288]);
});

for (const {
  shape,
  layers,
  vocabulary,
  placement,
  task,
  context,
  parallel,
  env,
  host,
  device,
} of recorded.cases) {
  const words = [
    shape,
    layers && `of ${layers} layers`,
    placement,
    task,
    `${parallel} x ${context}`,
    JSON.stringify(env),
  ];
  test(`agrees with llama-server: ${words.filter(Boolean).join(' ')}`, () => {
    const cut = { ...SHAPES[shape], ...(layers && { layers }), ...(vocabulary && { vocabulary }) };
    const need = needFor(cut, { placement, context, parallel, env, ...(task && { task }) });
    for (const [where, { output = 0, ...sizes }] of [
      ['host', host] as const,
      ['Vulkan0', device ?? {}] as const,
    ]) {
      for (const [part, size] of Object.entries(sizes)) {
        const what = part as NeedPart['what'];
        agrees(need, where, what, what === 'compute' ? size + output : size);
      }
    }
  });
}

/** Weights and KV to 1.5 MiB; compute never below what was seen, and not over it by more than a tenth or 10 MiB. */
function agrees(need: Need, device: string, what: NeedPart['what'], seen: number): void {
  const planned = bytesOf(need, device, what) / MIB;
  const over = what === 'compute' ? Math.max(10, seen / 10) : 1.5;
  const said = `${device} ${what}: planned ${planned.toFixed(2)} MiB, seen ${seen} MiB`;
  assert.ok(planned >= seen - (what === 'compute' ? 0.2 : 1.5), said);
  assert.ok(planned <= seen + over, said);
}

for (const { host, device = {}, task = 'embedding', ...asked } of recorded.encoder.cases) {
  const { placement, parallel, context, env } = asked;
  test(`an encoder scores no vocabulary: ${task} ${placement} ${parallel} x ${context} ${JSON.stringify(env)}`, () => {
    const need = needFor({ ...BERT_LARGE, layers: 4 }, { task, ...asked });
    for (const [where, seen] of Object.entries({ host, ...(placement === 'gpu' && { Vulkan0: device }) })) {
      const compute = bytesOf(need, where, 'compute') / MIB;
      const least = (seen.compute ?? 0) + (seen.output ?? 0) - 0.2;
      assert.ok(compute >= least && compute <= 2 * least, `${where}: planned ${compute}, seen ${least} MiB`);
      assert.equal(bytesOf(need, where, 'kv'), 0);
      if (seen.weights !== undefined) agrees(need, where, 'weights', seen.weights);
    }
  });
}

for (const { shape, type, outputType, cacheType, weights, kv } of recorded.fit.cases) {
  test(`agrees with llama-fit-params: ${shape} ${type ?? ''} ${cacheType}`, () => {
    const cut = {
      ...SHAPES[shape],
      ...(type && { type: typeNumber(type) }),
      ...(outputType && { outputType: typeNumber(outputType) }),
    };
    const env = {
      LLAMA_ARG_CACHE_TYPE_K: cacheType,
      LLAMA_ARG_CACHE_TYPE_V: cacheType,
      LLAMA_ARG_CTX_CHECKPOINTS: '0',
    };
    const need = needFor(cut, { env });
    assert.ok(Math.abs(bytesOf(need, 'host', 'weights') / MIB - weights) < 1.5);
    assert.ok(Math.abs(bytesOf(need, 'host', 'kv') / MIB - kv) < 1);
  });
}

test('exactly the types that the CPU build rewrites are counted as rewritten', () => {
  for (const name of [...recorded.repack.rewritten, ...recorded.repack.kept]) {
    const need = needFor({ ...SMALL, type: typeNumber(name), outputType: F16 });
    assert.equal(bytesOf(need, 'host', 'repack') > 0, recorded.repack.rewritten.includes(name), name);
  }
});

for (const { shape, layers, bytes } of recorded.checkpoints.cases) {
  test(`a saved point of ${shape} has the size that the server printed`, () => {
    const gguf = parsed(modelSpec({ ...SHAPES[shape], layers }));
    const planned = checkpointBytes(shapeOf(gguf), launchOf(profileOf())) / MIB;
    assert.ok(Math.abs(planned - bytes) < 0.02, `${planned}`);
  });
}

test('a model that attends to everything has no saved points', () => {
  assert.equal(checkpointBytes(shapeOf(parsed(modelSpec(SMALL))), launchOf(profileOf())), 0);
});

test('rewritten weights are counted once: weights and repack together are the tensors', () => {
  const gguf = parsed(modelSpec(EIGHT_B));
  const need = needOf({ gguf, projector: null, profile: profileOf() });
  const tensors = gguf.tensors.reduce((total, { bytes }) => total + bytes, 0);
  assert.equal(bytesOf(need, 'host', 'weights') + bytesOf(need, 'host', 'repack'), tensors);
  assert.equal(need.mapped, bytesOf(need, 'host', 'weights'));
});

test('a model without an output matrix of its own gives the GPU a copy of its token table', () => {
  const own = needFor({ ...SMALL, tied: false }, { placement: 'gpu' });
  const tied = needFor({ ...SMALL, tied: true }, { placement: 'gpu' });
  assert.deepEqual(tied.vram, own.vram);
  assert.equal(tied.ram, own.ram);
});

test('an embedding model gets no prompt cache', () => {
  assert.equal(bytesOf(needFor(SMALL, { task: 'embedding' }), 'host', 'prompt_cache'), 0);
});

test('the prompt cache is bounded, whole MiB, and for a small context no more than it can use', () => {
  const cap = (need: Need) => bytesOf(need, 'host', 'prompt_cache');
  assert.equal(cap(needFor(EIGHT_B)), 512 * MIB);
  const small = needFor(SMALL, { context: 256 });
  assert.equal(cap(small), 4 * bytesOf(small, 'host', 'kv'));
  assert.equal(cap(needFor(SMALL, { context: 300 })) % MIB, 0);
});

const shapeNames = Object.keys(SHAPES) as ShapeName[];
const anyShape = fc.constantFrom(...shapeNames);
const anyPlacement = fc.constantFrom<Placement>('cpu', 'gpu');
const parsedShapes = new Map(
  shapeNames.map((name) => [name, parsed(modelSpec({ ...SHAPES[name], vocabulary: 1024 }))]),
);

function total(shape: ShapeName, change: Parameters<typeof profileOf>[0]): Need {
  const gguf = parsedShapes.get(shape);
  assert.ok(gguf);
  return needOf({ gguf, projector: null, profile: profileOf(change) });
}

test('property: the parts sum to the totals, each is positive', () => {
  fc.assert(
    fc.property(
      anyShape,
      anyPlacement,
      fc.integer({ min: 1, max: 200_000 }),
      fc.integer({ min: 1, max: 16 }),
      (shape, placement, context, parallel) => {
        const need = total(shape, { placement, context, parallel });
        const vram = Object.values(need.vram).reduce((sum, bytes) => sum + bytes, 0);
        const all = need.parts.reduce((sum, { bytes }) => sum + bytes, 0);
        assert.equal(need.ram + vram, all);
        const onHost = need.parts.filter(({ device }) => device === 'host');
        assert.equal(
          need.ram,
          onHost.reduce((sum, { bytes }) => sum + bytes, 0),
        );
        assert.deepEqual(Object.keys(need.vram), placement === 'gpu' ? ['Vulkan0'] : []);
        assert.ok(need.parts.every(({ bytes }) => bytes > 0 && Number.isSafeInteger(bytes)));
        assert.ok(need.mapped <= need.ram);
      },
    ),
  );
});

test('property: a need never shrinks when context or parallel grows', () => {
  const size = (need: Need) => need.parts.reduce((sum, { bytes }) => sum + bytes, 0);
  fc.assert(
    fc.property(
      anyShape,
      anyPlacement,
      fc.integer({ min: 1, max: 100_000 }),
      fc.integer({ min: 1, max: 8 }),
      fc.integer({ min: 0, max: 50_000 }),
      fc.integer({ min: 0, max: 4 }),
      fc.boolean(),
      (shape, placement, context, parallel, moreContext, moreParallel, unified) => {
        const env: Record<string, string> = unified ? { LLAMA_ARG_KV_UNIFIED: '1' } : {};
        const before = size(total(shape, { placement, context, parallel, env }));
        const longer = size(total(shape, { placement, context: context + moreContext, parallel, env }));
        const wider = size(total(shape, { placement, context, parallel: parallel + moreParallel, env }));
        assert.ok(longer >= before);
        assert.ok(wider >= before);
      },
    ),
  );
});
