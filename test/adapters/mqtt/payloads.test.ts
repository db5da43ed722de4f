import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { eventPayload, homeState, metrics, modelState } from '../../../app/adapters/mqtt/payloads.ts';
import type { GpuView } from '../../../app/core/view.ts';
import { GIB, homeView, instanceView, modelView, OUTAGE } from './support/views.ts';

describe('state of the home', () => {
  it('names the strongest backend in use and the most urgent status', () => {
    const view = homeView({
      models: [
        modelView({ name: 'a', placement: 'cpu', status: 'ready' }),
        modelView({ name: 'b', placement: 'gpu', status: 'degraded', outage: OUTAGE }),
        modelView({ name: 'c', placement: 'none', status: 'stopped' }),
      ],
    });
    const state = homeState(view);
    assert.equal(state.active_backend, 'gpu');
    assert.equal(state.status, 'degraded');
    assert.equal(state.failover_active, 'ON');
  });

  it('is stopped, on no backend, where there is no model', () => {
    const state = homeState(homeView({ models: [] }));
    assert.equal(state.active_backend, 'none');
    assert.equal(state.status, 'stopped');
    assert.equal(state.mode, null);
    assert.equal(state.loaded_model, null);
  });

  it('says nothing where models differ', () => {
    const models = [modelView({ mode: 'cpu', keepLoaded: true }), modelView({ mode: 'auto' })];
    assert.equal(homeState(homeView({ models })).mode, null);
    assert.equal(homeState(homeView({ models })).keep_loaded, null);
    const same = homeState(homeView({ models: [modelView({ mode: 'cpu' }), modelView({ mode: 'cpu' })] }));
    assert.equal(same.mode, 'cpu');
  });

  it('keeps the budget within what the host has', () => {
    const memory = homeView().memory;
    assert.ok(memory);
    const budget = (bytes: number) =>
      homeState(homeView({ memory: { ...memory, budget: bytes } })).ram_budget;
    assert.equal(budget(6.5 * GIB), 6.5);
    assert.equal(budget(99 * GIB), 16);
    assert.equal(homeState(homeView({ memory: null })).ram_budget, null);
  });

  it('never has a state over 255 characters', () => {
    const models = Array.from({ length: 40 }, (_, i) =>
      modelView({ displayName: `모델-${i}-with-a-long-name` }),
    );
    const text = homeState(homeView({ models })).loaded_model ?? '';
    assert.ok(text.length <= 255 && text.endsWith('…'));
  });
});

describe('state of a model', () => {
  it('counts the memory of its own instances only', () => {
    const chat = modelView();
    const instances = [instanceView(), instanceView({ placement: 'cpu' }), instanceView({ model: 'other' })];
    assert.equal(modelState(homeView({ instances }), chat).llm_memory, 3);
  });

  it('gives the idle time in minutes: 0 is never, null is more than can be set', () => {
    const minutes = (idleUnload: number | null) =>
      modelState(homeView(), modelView({ idleUnload })).idle_unload;
    assert.equal(minutes(600), 10);
    assert.equal(minutes(20), 0.33);
    assert.equal(minutes(null), 0);
    assert.equal(minutes(30 * 24 * 3600), null);
  });
});

describe('metrics', () => {
  it('are rounded, so that small moves of memory are not told', () => {
    const memory = homeView().memory;
    assert.ok(memory);
    const at = (available: number) => metrics(homeView({ memory: { ...memory, available } }));
    assert.deepEqual(at(9 * GIB), at(9 * GIB + 20 * 1024 ** 2));
    assert.equal(at(9.26 * GIB).host_memory_available, 9.3);
  });

  it('are unknown, not zero, before the memory was read', () => {
    const { llm_memory, host_memory_available } = metrics(homeView({ memory: null }));
    assert.deepEqual([llm_memory, host_memory_available], [null, null]);
  });

  it('show what is free of the GPUs that tell, and nothing where none does', () => {
    const gpu = (total: number | null, used: number | null): GpuView => ({
      ...{ name: 'g', kind: 'nvidia', memory: 'dedicated', total, used, models: 0, headroom: 0 },
    });
    const free = (...gpus: GpuView[]) => metrics(homeView({ gpus })).gpu_memory_available;
    assert.equal(free(gpu(12 * GIB, 3.04 * GIB), gpu(8 * GIB, 8 * GIB), gpu(8 * GIB, null)), 9);
    assert.equal(free(gpu(8 * GIB, 8 * GIB)), 0);
    assert.equal(free(gpu(8 * GIB, null), gpu(null, null)), null);
    assert.equal(free(), null);
  });
});

describe('keys of state JSON', () => {
  it("are none that Home Assistant's templates would take for a method of the dictionary", () => {
    const methods = ['update', 'items', 'keys', 'values', 'get', 'pop', 'copy', 'clear', 'setdefault'];
    const view = homeView();
    const keys = [homeState(view), metrics(view), modelState(view, modelView())].flatMap(Object.keys);
    assert.deepEqual(
      keys.filter((key) => methods.includes(key)),
      [],
    );
  });
});

describe('an event', () => {
  const fact = { v: 1, seq: 7, time: '2026-11-30T10:00:00.000Z', type: 'failover', model: 'chat' } as const;
  it('is the fact and its type once more as event_type', () => {
    assert.deepEqual(eventPayload(fact, 0), { ...fact, event_type: 'failover' });
  });
  it('says how many before it were lost', () => {
    assert.equal(eventPayload(fact, 3)['missed'], 3);
  });
});
