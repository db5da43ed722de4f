import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { InstanceView, MemoryView } from '../../app/core/view.ts';
import { type Bar, gpuBar, type PartKind, ramBar } from '../../app/web/logic/memory-bar.ts';
import { anInstance, GIB, gib, NAS_MEMORY } from '../browser/support/views.ts';
import { fc } from '../support/property.ts';

const sizes = (bar: Bar): Partial<Record<PartKind, number>> => {
  const found: Partial<Record<PartKind, number>> = {};
  for (const part of bar.parts) found[part.kind] = (found[part.kind] ?? 0) + part.bytes;
  return found;
};

/** Readings as a machine gives them: any, also such as contradict each other. */
const reading = fc
  .record({
    total: fc.integer({ min: 1, max: 256 * GIB }),
    available: fc.nat(256 * GIB),
    reserve: fc.nat(32 * GIB),
    budget: fc.nat(256 * GIB),
    services: fc.option(fc.nat(64 * GIB)),
    instances: fc.array(fc.nat(64 * GIB), { maxLength: 6 }),
  })
  .map(({ instances, ...memory }) => ({
    memory: { ...memory, models: instances.reduce((sum, bytes) => sum + bytes, 0) } satisfies MemoryView,
    instances: instances.map((bytes, i): InstanceView => anInstance({ model: `m${i}`, memory: bytes })),
  }));

describe('the RAM bar', () => {
  it('sums to the total and has no negative part, whatever is read', () => {
    fc.assert(
      fc.property(reading, ({ memory, instances }) => {
        const bar = ramBar(memory, instances);
        assert.equal(
          bar.parts.reduce((sum, part) => sum + part.bytes, 0),
          memory.total,
        );
        assert.ok(bar.parts.every((part) => part.bytes > 0));
      }),
      { numRuns: 1000 },
    );
  });
  it('never promises more to models than budget and reserve leave', () => {
    fc.assert(
      fc.property(reading, ({ memory, instances }) => {
        const free = sizes(ramBar(memory, instances)).free ?? 0;
        assert.ok(free <= Math.max(0, memory.available - memory.reserve));
        assert.ok(free <= Math.max(0, memory.budget - Math.min(memory.models, memory.total)));
      }),
    );
  });
  it('tells the parts as they are read', () => {
    const instances = [anInstance({ model: 'chat', memory: gib(1.1) })];
    assert.deepEqual(sizes(ramBar({ ...NAS_MEMORY, models: gib(1.1) }, instances)), {
      system: 16 * GIB - gib(9.4) - gib(3.2) - gib(1.1),
      services: gib(3.2),
      model: gib(1.1),
      free: gib(9.4) - 2 * GIB,
      kept: 2 * GIB,
    });
  });
  it('takes what is counted twice off free, then off kept', () => {
    // Mapped weights: the models hold 6 GiB of a machine that says only 4 are used.
    const memory: MemoryView = {
      total: 10 * GIB,
      available: 6 * GIB,
      reserve: 1 * GIB,
      budget: 9 * GIB,
      models: 6 * GIB,
      services: 1 * GIB,
    };
    const found = sizes(ramBar(memory, [anInstance({ memory: 6 * GIB })]));
    assert.equal(found.system, undefined);
    assert.equal(found.free, undefined);
    assert.equal(found.kept, 3 * GIB);
  });
  it('numbers the models as the legend does', () => {
    const instances = [anInstance({ model: 'a', memory: GIB }), anInstance({ model: 'b', memory: 2 * GIB })];
    const bar = ramBar({ ...NAS_MEMORY, models: 3 * GIB }, instances);
    assert.deepEqual(
      bar.parts.filter((part) => part.kind === 'model').map(({ model, number }) => [model, number]),
      [
        ['a', 1],
        ['b', 2],
      ],
    );
  });
  it('says so where services were not measured', () => {
    assert.equal(ramBar({ ...NAS_MEMORY, services: null }, []).servicesUnknown, true);
  });
});

describe('the GPU bar', () => {
  const gpu = {
    name: 'g',
    kind: 'nvidia',
    memory: 'dedicated',
    total: 12 * GIB,
    used: null,
    models: 5 * GIB,
    headroom: GIB,
  } as const;
  it('sums to the total', () => {
    const bar = gpuBar(gpu, []);
    assert.equal(
      bar?.parts.reduce((sum, part) => sum + part.bytes, 0),
      12 * GIB,
    );
  });
  it('sums to the total and has no negative part, whatever is read', () => {
    const bytes = fc.nat(64 * GIB);
    const read = fc.record({
      total: fc.integer({ min: 1, max: 64 * GIB }),
      used: fc.option(bytes),
      models: bytes,
      headroom: bytes,
    });
    fc.assert(
      fc.property(read, (own) => {
        const bar = gpuBar({ ...gpu, ...own }, []);
        assert.equal(
          bar?.parts.reduce((sum, part) => sum + part.bytes, 0),
          own.total,
        );
        assert.ok(bar?.parts.every((part) => part.bytes > 0));
        const free = bar === null ? 0 : (sizes(bar).free ?? 0);
        assert.ok(free <= Math.max(0, own.total - (own.used ?? 0)), 'what is used is not free');
      }),
    );
  });
  it('shows what other programs take, where that is known', () => {
    const bar = (used: number | null) => sizes(gpuBar({ ...gpu, used }, []) ?? assert.fail());
    assert.deepEqual(bar(8 * GIB), { system: 3 * GIB, model: 5 * GIB, free: 3 * GIB, kept: GIB });
    assert.deepEqual(bar(4 * GIB), { model: 5 * GIB, free: 6 * GIB, kept: GIB });
    assert.deepEqual(bar(null), bar(4 * GIB));
  });
  it('is none where the size is unknown or the memory is shared', () => {
    assert.equal(gpuBar({ ...gpu, total: null }, []), null);
    assert.equal(gpuBar({ ...gpu, memory: 'shared' }, []), null);
  });
});
