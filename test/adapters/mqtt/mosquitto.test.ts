import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { PATIENCE_MS } from '../../support/until.ts';
import { listener } from './support/listener.ts';
import { mosquitto, mosquittoSub } from './support/mosquitto.ts';
import { account, stage } from './support/stage.ts';

const timeout = { timeout: PATIENCE_MS };

describe('mosquitto as the broker', timeout, () => {
  it('hears everything, passes commands on, and tells when the home is gone', async () => {
    const broker = await mosquitto(account);
    try {
      await using on = await stage();
      const watcher = await listener(broker.url, account);
      const publisher = on.publisher({ url: broker.url });
      await publisher.start();
      assert.equal((await watcher.hears('llamastead/home/availability')).payload, 'online');
      assert.equal((await watcher.json('llamastead/home/metrics'))['requests'], 12);
      on.home.happen({ type: 'failover', model: 'chat', to: 'cpu', reason: 'out_of_memory' });
      assert.equal((await watcher.json('llamastead/home/event'))['event_type'], 'failover');
      await watcher.say('llamastead/home/set/load', 'PRESS');
      assert.equal((await watcher.json('llamastead/home/ack'))['ok'], true);
      await publisher.stop();
      await watcher.hears('llamastead/home/availability', (payload) => payload === 'offline');
      await watcher.close();
    } finally {
      await broker.close();
    }
  });

  it('refuses a wrong password, and that is told', async () => {
    const broker = await mosquitto(account);
    try {
      await using on = await stage();
      await on.publisher({ url: broker.url, password: 'wrong' }).start();
      await on.becomes(false);
      assert.match(on.told[0]?.[1] ?? '', /not authorized/i);
    } finally {
      await broker.close();
    }
  });
});

describe('mosquitto_sub', timeout, () => {
  for (const version of ['mqttv311', 'mqttv5'] as const) {
    it(`sees all that is retained on the embedded broker by ${version}`, async () => {
      await using on = await stage();
      await on.publisher().start();
      await on.watcher.hears('llamastead/home/metrics');
      const lines = await mosquittoSub(on.broker.port, account, { filter: '#', count: 6, version });
      assert.deepEqual(lines.map((line) => line.split(' ')[0]).sort(), [
        'homeassistant/device/llamastead_home/config',
        'homeassistant/device/llamastead_home_model_chat/config',
        ...['availability', 'metrics', 'model/chat/state', 'state'].map((name) => `llamastead/home/${name}`),
      ]);
    });
  }
});
