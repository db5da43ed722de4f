/** A server error of an unknown cause, by what is known of the device's memory. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Outcome } from '../../app/core/request.ts';
import type { Gpu } from '../../app/core/types.ts';
import { GIB, GPU, host, MIB, model, policy, profile } from '../support/model.ts';
import { makeWorld, type World } from '../support/world.ts';

const UNKNOWN: Outcome = {
  kind: 'failed',
  failure: { kind: 'http', status: 500, message: 'Internal Server Error' },
  forwarded: 'nothing',
};

/** A request runs on the GPU when this much memory is left. */
function runs(memory: Gpu['memory'], available: number): { readonly world: World; readonly id: number } {
  const gpu: Gpu = { ...GPU, memory, total: memory === 'shared' ? null : GPU.total };
  const profiles = { gpu: profile('chat', 'gpu', { gpu }), cpu: profile('chat', 'cpu') };
  const world = makeWorld({ policy: policy([model('chat', { profiles })], { gpus: [gpu] }) });
  const id = world.request();
  assert.equal(world.grantOf(id)?.placement, 'gpu');
  world.setMemory(host(available));
  world.submit({ type: 'host_sampled', host: host(available) });
  return { world, id };
}

const passedOn = (world: World) => world.effects.at(-1)?.type === 'pass_on';

describe('an unknown server error', () => {
  test('is taken for a lack of memory where the device shares that of the host, and its headroom is gone', () => {
    const { world, id } = runs('shared', 400 * MIB);
    // Its removal makes room for the CPU; the host is read again for that.
    world.setMemory(host(12 * GIB));
    world.advance(2_000);
    world.end(id, UNKNOWN);
    assert.equal(world.grantOf(id)?.placement, 'cpu');
    assert.equal(world.grantOf(id)?.reason, 'compute_error');
  });

  test("is the backend's answer where there is room", () => {
    const { world, id } = runs('shared', 600 * MIB);
    world.end(id, UNKNOWN);
    assert.ok(passedOn(world));
  });

  test("is the backend's answer on a card with memory of its own: nothing is known of that", () => {
    const { world, id } = runs('dedicated', 400 * MIB);
    world.end(id, UNKNOWN);
    assert.ok(passedOn(world));
  });

  test("is the backend's answer when the last reading is old", () => {
    const { world, id } = runs('shared', 400 * MIB);
    world.advance(60_000);
    world.end(id, UNKNOWN);
    assert.ok(passedOn(world));
  });

  test("is the backend's answer on the CPU", () => {
    const world = makeWorld({
      policy: policy([model('chat', { mode: 'cpu' })]),
    });
    const id = world.request();
    world.submit({ type: 'host_sampled', host: host(100 * MIB) });
    world.end(id, UNKNOWN);
    assert.ok(passedOn(world));
  });
});
