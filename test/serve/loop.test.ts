/** The loop when a part breaks: a fault is told, and takes nothing else with it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Effect } from '../../app/core/effects.ts';
import { type Executors, makeLoop } from '../../app/loop.ts';
import { manualClock } from '../support/clock.ts';
import { GIB, host, model, need, policy, profile } from '../support/model.ts';

/** One slot on the GPU, which is ready; `breaks`: what fails in the part, not in the core. */
function home(breaks: (effect: Effect) => boolean) {
  const clock = manualClock();
  const done: string[] = [];
  const note = (effect: Effect & { readonly request?: number }): void => {
    if (breaks(effect)) throw new Error(`${effect.type} broke`);
    done.push(`${effect.type} ${effect.request ?? ''}`.trim());
  };
  const parts: Partial<Executors> = {
    estimate_need: ({ profile: { hash } }) => loop.submit({ type: 'need_estimated', hash, need: need(GIB) }),
    sample_host: () => loop.submit({ type: 'host_sampled', host: host(12 * GIB) }),
    start_instance({ plan: { instance } }) {
      const measured = { placement: null, ram: null, vram: null };
      loop.submit({ type: 'instance_ready', instance, container: 'c', measured });
    },
  };
  const executors = new Proxy(parts as Executors, { get: (own, type) => Reflect.get(own, type) ?? note });
  const loop = makeLoop({ clock, executors, publish() {} });
  const profiles = { gpu: profile('chat', 'gpu', { parallel: 1 }) };
  const models = [model('chat', { placements: ['gpu'], profiles })];
  loop.submit({ type: 'configured', policy: policy(models), why: 'start' });
  loop.submit({ type: 'engine_reachable', engine: 'local' });
  loop.submit({ type: 'containers_observed', engine: 'local', containers: [] });
  clock.advance(1);
  const ask = (id: number, promptBytes: number | null = null, deadlineMs: number | null = null) =>
    loop.submit({
      type: 'request_received',
      body: null,
      request: {
        ...{ id, externalId: `x${id}`, model: 'chat', path: '/v1/chat/completions', stream: true },
        ...{ neverReplay: false, deadlineMs, client: 'c', background: false, promptBytes },
      },
    });
  return { loop, clock, done, ask };
}

test('an effect that breaks is thrown, but the others of its turn are done', () => {
  const { loop, done, ask } = home((effect) => effect.type === 'refuse' && effect.request === 2);
  for (const id of [1, 2, 3]) ask(id);
  assert.deepEqual(done, ['grant 1']);
  assert.throws(() => loop.submit({ type: 'shutdown' }), /refuse broke/);
  assert.deepEqual(done, ['grant 1', 'refuse 3']);
});

test('after a fault the alarm is set all the same: who waits is told in time', () => {
  const { clock, done, ask } = home((effect) => effect.type === 'count_tokens');
  ask(1);
  clock.advance(1);
  assert.throws(() => ask(2, 50_000, 5_000), /count_tokens broke/);
  clock.advance(5_000);
  assert.deepEqual(done, ['grant 1', 'refuse 2']);
});

test('what came in meanwhile is taken after a fault too', () => {
  const breaking = home((effect) => {
    if (effect.type !== 'grant' || effect.request !== 1) return false;
    breaking.ask(2);
    return true;
  });
  assert.throws(() => breaking.ask(1), /grant broke/);
  assert.equal(breaking.loop.state.requests.size, 2);
});
