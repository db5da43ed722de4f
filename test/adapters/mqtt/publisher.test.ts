import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TOLD_TYPES } from '../../../app/core/facts.ts';
import { PATIENCE_MS, until } from '../../support/until.ts';
import { memoryFile } from './support/home.ts';
import { listener } from './support/listener.ts';
import { account, type Stage, stage } from './support/stage.ts';
import { homeView, modelView, OUTAGE } from './support/views.ts';

const timeout = { timeout: PATIENCE_MS };
const topic = (rest: string) => `llamastead/home/${rest}`;
const started = async (on: Stage) => {
  const publisher = on.publisher();
  await publisher.start();
  await on.watcher.hears(topic('metrics'));
  return publisher;
};
const heardOn = (on: Stage, name: string) =>
  on.watcher.heard.filter((message) => message.topic === topic(name)).map((message) => message.payload);
const events = (on: Stage) => heardOn(on, 'event').map((payload) => JSON.parse(payload));

describe('the publisher', timeout, () => {
  it('tells everything retained when it has connected, the entities before their states', async () => {
    await using on = await stage();
    await started(on);
    const topics = on.watcher.heard.map((message) => message.topic);
    assert.deepEqual(topics, [
      'homeassistant/device/llamastead_home/config',
      'homeassistant/device/llamastead_home_model_chat/config',
      ...['availability', 'state', 'model/chat/state', 'metrics'].map(topic),
    ]);
    const late = await listener(on.broker.url, account);
    await late.hears(topic('metrics'));
    assert.deepEqual(late.heard.map((message) => message.topic).sort(), topics.sort());
    assert.ok(late.heard.every((message) => message.retain));
    assert.equal((await late.hears(topic('availability'))).payload, 'online');
    await late.close();
  });

  it('tells a change of state at once, then at most once a second, the last one always', async () => {
    await using on = await stage();
    await started(on);
    on.home.show({ models: [modelView({ status: 'starting' })] });
    await on.watcher.json(topic('state'), (json) => json['status'] === 'starting');
    for (const status of ['ready', 'busy', 'draining'] as const)
      on.home.show({ models: [modelView({ status })] });
    on.clock.advance(999);
    on.clock.advance(1);
    await on.watcher.json(topic('state'), (json) => json['status'] === 'draining');
    assert.deepEqual(
      heardOn(on, 'state').map((payload) => JSON.parse(payload).status),
      ['ready', 'starting', 'draining'],
    );
  });

  it('tells nothing where nothing changed', async () => {
    await using on = await stage();
    await started(on);
    const before = on.watcher.heard.length;
    on.home.show({ seq: 99, time: '2026-11-30T11:00:00.000Z' });
    on.home.show({ models: [modelView({ status: 'busy' })] });
    on.clock.advance(20_000);
    await on.watcher.json(topic('state'), (json) => json['status'] === 'busy');
    await on.watcher.json(topic('model/chat/state'), (json) => json['status'] === 'busy');
    assert.equal(on.watcher.heard.length, before + 2);
  });

  it('tells measurements at most every 15 s, the last one always', async () => {
    await using on = await stage();
    await started(on);
    const count = (requests: number) => on.home.show({ counters: { requests, failed: 0, failovers: 2 } });
    count(13);
    await on.watcher.json(topic('metrics'), (json) => json['requests'] === 13);
    count(14);
    count(15);
    on.clock.advance(14_999);
    assert.equal(heardOn(on, 'metrics').length, 2);
    on.clock.advance(1);
    await on.watcher.json(topic('metrics'), (json) => json['requests'] === 15);
    assert.equal(heardOn(on, 'metrics').length, 3);
  });

  it('tells facts in order, with their number and type, not retained', async () => {
    await using on = await stage();
    await started(on);
    on.home.happen({ type: 'model_loading', model: 'chat', placement: 'gpu' });
    on.home.happen({ type: 'failover', model: 'chat', reason: 'out_of_memory', to: 'cpu', requestId: 'r1' });
    const failover = await on.watcher.json(topic('event'), (json) => json['event_type'] === 'failover');
    assert.deepEqual(
      [failover['seq'], failover['v'], failover['reason'], failover['to'], failover['requestId']],
      [2, 1, 'out_of_memory', 'cpu', 'r1'],
    );
    assert.deepEqual(
      events(on).map((event) => event.seq),
      [1, 2],
    );
    const late = await listener(on.broker.url, account);
    await late.hears(topic('metrics'));
    assert.equal(late.heard.filter((message) => message.topic === topic('event')).length, 0);
    await late.close();
  });
});

describe('a broker that goes away', timeout, () => {
  it('hears on its return, in order, each event that it missed, and the state as it is now', async () => {
    await using on = await stage();
    await started(on);
    on.home.happen({ type: 'model_loaded', model: 'chat' });
    await on.watcher.json(topic('event'), (json) => json['seq'] === 1);
    on.relay.cut();
    await on.becomes(false);
    await on.watcher.hears(topic('availability'), (payload) => payload === 'offline');
    for (const type of ['out_of_memory', 'failover', 'recovered'] as const) on.home.happen({ type });
    on.home.show({ models: [modelView({ placement: 'cpu', status: 'degraded', outage: OUTAGE })] });
    on.relay.mend();
    on.clock.advance(1_000);
    await on.watcher.json(topic('event'), (json) => json['seq'] === 4);
    assert.deepEqual(
      events(on).map((event) => [event.seq, event.missed]),
      [
        [1, undefined],
        [2, undefined],
        [3, undefined],
        [4, undefined],
      ],
    );
    assert.equal((await on.watcher.json(topic('state')))['failover_active'], 'ON');
    assert.equal((await on.watcher.hears(topic('availability'))).payload, 'online');
    assert.deepEqual(
      on.told.map(([up]) => up),
      [true, false, true],
    );
  });

  it('is told of a loss where events it missed are no longer kept', async () => {
    await using on = await stage();
    await started(on);
    on.relay.cut();
    await on.becomes(false);
    for (let i = 0; i < 5; i++) on.home.happen({ type: 'model_loaded' });
    on.home.forget(3);
    on.relay.mend();
    on.clock.advance(1_000);
    await on.watcher.json(topic('event'), (json) => json['seq'] === 5);
    assert.deepEqual(
      events(on).map((event) => [event.seq, event.missed]),
      [
        [4, 3],
        [5, undefined],
      ],
    );
  });

  it('gets a bounded number of events, and is told how many were left out', async () => {
    await using on = await stage();
    await started(on);
    on.relay.cut();
    await on.becomes(false);
    for (let i = 0; i < 1_200; i++) on.home.happen({ type: 'request_failed' });
    on.relay.mend();
    on.clock.advance(1_000);
    await on.watcher.json(topic('event'), (json) => json['seq'] === 1_200);
    assert.deepEqual([events(on)[0].seq, events(on)[0].missed, events(on).length], [201, 200, 1_000]);
  });

  it('is tried again after waits that double to a minute', async () => {
    await using on = await stage();
    on.relay.cut();
    const tries: number[] = [];
    const at = on.clock.at;
    const clock = {
      ...on.clock,
      at: (mono: number, ring: () => void) => {
        tries.push(mono - on.clock.now().mono);
        return at(mono, ring);
      },
    };
    const publisher = on.publisher({ clock, random: () => 1 });
    await publisher.start();
    for (let i = 1; i <= 8; i++) {
      await until(() => tries.length >= i);
      on.clock.advance(tries[i - 1] ?? 0);
    }
    assert.deepEqual(
      tries.slice(0, 8),
      [1, 2, 4, 8, 16, 32, 60, 60].map((seconds) => seconds * 1_000),
    );
    assert.equal(on.told.length, 1);
  });

  it('is told once, with the reason, where it refuses the password or is not there', async () => {
    await using on = await stage();
    await on.publisher({ password: 'wrong' }).start();
    await on.becomes(false);
    assert.match(on.told[0]?.[1] ?? '', /bad username or password/i);
    await using other = await stage();
    await other.publisher({ url: 'mqtt://127.0.0.1:1' }).start();
    await other.becomes(false);
    assert.match(other.told[0]?.[1] ?? '', /ECONNREFUSED/);
  });
});

describe('a restart', timeout, () => {
  it('goes on with the event after the last one told', async () => {
    await using on = await stage();
    const memory = memoryFile();
    const first = on.publisher({}, memory);
    await first.start();
    on.home.happen({ type: 'model_loading' });
    on.home.happen({ type: 'model_loaded' });
    await on.watcher.json(topic('event'), (json) => json['seq'] === 2);
    await first.stop();
    on.home.happen({ type: 'config_reloaded' });
    await on.publisher({}, memory).start();
    await on.watcher.json(topic('event'), (json) => json['seq'] === 3);
    assert.deepEqual(
      events(on).map((event) => event.seq),
      [1, 2, 3],
    );
  });

  for (const [what, saved] of [
    ['no', null],
    ['an unreadable', { told: 'x' }],
    ['a foreign', { told: 77, announced: {} }],
  ] as const) {
    it(`with ${what} position does not tell old events again`, async () => {
      await using on = await stage();
      on.home.happen({ type: 'model_loading' });
      await on.publisher({}, memoryFile(saved)).start();
      on.home.happen({ type: 'model_loaded' });
      await on.watcher.hears(topic('event'));
      assert.deepEqual(
        events(on).map((event) => [event.seq, event.missed]),
        [[2, undefined]],
      );
    });
  }

  it('removes what went away meanwhile from Home Assistant', async () => {
    await using on = await stage();
    const memory = memoryFile();
    on.home.show({ models: [modelView(), modelView({ name: 'tiny' })] });
    const first = on.publisher({}, memory);
    await first.start();
    await on.watcher.hears(topic('metrics'));
    await first.stop();
    on.home.show({ models: [modelView()] });
    await on.publisher({}, memory).start();
    await on.watcher.hears(
      'homeassistant/device/llamastead_home_model_tiny/config',
      (payload) => payload === '',
    );
    await on.watcher.hears(topic('model/tiny/state'), (payload) => payload === '');
  });
});

describe('Home Assistant', timeout, () => {
  it('is told nothing where discovery is off, and what it was told before is taken back', async () => {
    await using on = await stage();
    const memory = memoryFile();
    const first = on.publisher({}, memory);
    await first.start();
    await on.watcher.hears(topic('metrics'));
    await first.stop();
    on.watcher.heard.length = 0;
    await on.publisher({ discoveryPrefix: null }, memory).start();
    await on.watcher.hears(topic('metrics'));
    assert.deepEqual(
      on.watcher.heard.filter((message) => message.topic.startsWith('homeassistant/')),
      ['llamastead_home', 'llamastead_home_model_chat'].map((id) => ({
        topic: `homeassistant/device/${id}/config`,
        payload: '',
        retain: false,
      })),
    );
  });

  it('loses the old devices where the discovery prefix changes', async () => {
    await using on = await stage();
    const memory = memoryFile();
    const first = on.publisher({}, memory);
    await first.start();
    await on.watcher.hears(topic('metrics'));
    await first.stop();
    await on.publisher({ discoveryPrefix: 'other' }, memory).start();
    await on.watcher.hears('homeassistant/device/llamastead_home/config', (payload) => payload === '');
    await on.watcher.json('other/device/llamastead_home/config');
    assert.notEqual((await on.watcher.hears(topic('model/chat/state'))).payload, '');
  });

  it('gets everything again a little after its birth message', async () => {
    await using on = await stage();
    await started(on);
    await on.watcher.say('homeassistant/status', 'online');
    // The publisher answers one message after the other: with this answer it has heard the birth as well.
    await on.watcher.say(topic('set/unknown'), 'x');
    await on.watcher.hears(topic('ack'));
    on.watcher.heard.length = 0;
    on.clock.advance(1_599);
    on.clock.advance(1);
    await on.watcher.hears(topic('metrics'));
    assert.deepEqual(
      on.watcher.heard.map((message) => message.topic),
      [
        'homeassistant/device/llamastead_home/config',
        'homeassistant/device/llamastead_home_model_chat/config',
        ...['availability', 'state', 'model/chat/state', 'metrics'].map(topic),
      ],
    );
  });

  it('is not answered where its birth message is an old, retained one', async () => {
    await using on = await stage();
    await on.watcher.say('homeassistant/status', 'online', { retain: true });
    await started(on);
    const before = on.watcher.heard.length;
    on.clock.advance(5_000);
    await on.watcher.say(topic('set/unknown'), 'x');
    await on.watcher.hears(topic('ack'));
    assert.equal(on.watcher.heard.length, before + 2);
  });

  it('loses a model that is removed while running: its device and its state are cleared', async () => {
    await using on = await stage();
    on.home.show({ models: [modelView(), modelView({ name: 'tiny' })] });
    await started(on);
    on.home.show({ models: [modelView()] });
    await on.watcher.hears(
      'homeassistant/device/llamastead_home_model_tiny/config',
      (payload) => payload === '',
    );
    await on.watcher.hears(topic('model/tiny/state'), (payload) => payload === '');
  });
});

describe('a command', timeout, () => {
  const answer = (on: Stage, key: string) => on.watcher.json(topic('ack'), (json) => json['key'] === key);

  it('for all models reaches each, and is answered when it is done', async () => {
    await using on = await stage();
    on.home.show({ models: [modelView(), modelView({ name: 'tiny' })] });
    await started(on);
    on.home.happen({ type: 'model_loaded' });
    await on.watcher.say(topic('set/load'), 'PRESS');
    assert.deepEqual(await answer(on, 'load'), { key: 'load', ok: true, seq: 1 });
    assert.deepEqual(on.home.commands, [
      { do: 'load', model: 'chat' },
      { do: 'load', model: 'tiny' },
    ]);
  });

  it('for one model reaches that one', async () => {
    await using on = await stage();
    on.home.show({ models: [modelView(), modelView({ name: 'Tiny 1B' })] });
    await started(on);
    await on.watcher.say(topic('model/tiny-1b/set/unload'), 'PRESS');
    assert.deepEqual(await answer(on, 'unload'), { key: 'unload', model: 'tiny-1b', ok: true, seq: 0 });
    assert.deepEqual(on.home.commands, [{ do: 'unload', model: 'Tiny 1B' }]);
  });

  it('that sets something becomes a setting', async () => {
    await using on = await stage();
    await started(on);
    for (const [key, payload] of [
      ['mode', 'cpu'],
      ['keep_loaded', 'ON'],
      ['idle_unload', '5'],
      ['ram_budget', '6'],
    ] as const) {
      await on.watcher.say(topic(`set/${key}`), payload);
      assert.equal((await answer(on, key))['ok'], true);
    }
    assert.deepEqual(on.home.set, [
      { key: 'models.chat.mode', value: 'cpu' },
      { key: 'models.chat.keepLoaded', value: true },
      { key: 'models.chat.idleUnload', value: 300 },
      { key: 'memory.budget', value: 6 * 1024 ** 3 },
    ]);
  });

  it('that is wrong, refused or for no model is answered with the reason', async () => {
    await using on = await stage();
    await started(on);
    on.home.result = {
      ok: false,
      code: 'capacity',
      message: 'chat needs 9.1 GiB, there is room for 4.0 GiB',
    };
    const cases = [
      ['set/mode', 'fast', 'mode: got "fast", expected one of auto, gpu, cpu, off'],
      ['set/mode', 'gpu', 'models.chat.mode: got "gpu", expected auto or cpu'],
      ['set/load', 'PRESS', 'chat needs 9.1 GiB, there is room for 4.0 GiB'],
      ['model/nobody/set/load', 'PRESS', 'load: unknown model "nobody", expected one of chat'],
    ] as const;
    for (const [name, payload, error] of cases) {
      await on.watcher.say(topic(name), payload);
      assert.equal((await on.watcher.json(topic('ack'), (json) => json['error'] === error))['ok'], false);
    }
  });

  it('that is retained is ignored', async () => {
    await using on = await stage();
    await on.watcher.say(topic('set/unload'), 'PRESS', { retain: true });
    await started(on);
    await on.watcher.say(topic('set/load'), 'PRESS');
    await answer(on, 'load');
    assert.deepEqual(on.home.commands, [{ do: 'load', model: 'chat' }]);
  });
});

describe('the end', timeout, () => {
  it('tells what the shutdown brought, then says offline', async () => {
    await using on = await stage();
    const publisher = await started(on);
    on.home.show({ models: [modelView({ status: 'draining' })] });
    on.home.show({ models: [modelView({ status: 'stopped', placement: 'none' })] });
    on.home.happen({ type: 'model_unloaded', why: 'shutdown' });
    await publisher.stop();
    assert.equal(publisher.up(), false);
    await on.watcher.hears(topic('availability'), (payload) => payload === 'offline');
    assert.equal(JSON.parse(heardOn(on, 'state').at(-1) ?? '')['status'], 'stopped');
    assert.equal(events(on).at(-1)?.type, 'model_unloaded');
    assert.equal(on.watcher.heard.at(-1)?.topic, topic('availability'));
  });

  it('comes at once where the broker is away', async () => {
    await using on = await stage();
    const publisher = await started(on);
    on.relay.cut();
    await on.becomes(false);
    await publisher.stop();
  });
});

describe('every type of fact', timeout, () => {
  it('reaches the broker', async () => {
    await using on = await stage();
    on.home.show(homeView());
    await started(on);
    for (const type of TOLD_TYPES) on.home.happen({ type });
    await on.watcher.json(topic('event'), (json) => json['seq'] === TOLD_TYPES.length);
    assert.deepEqual(
      events(on).map((event) => event.event_type),
      TOLD_TYPES,
    );
  });
});
