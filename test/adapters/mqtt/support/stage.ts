/** A broker, a cable to it, a scripted home whose publisher uses the cable, and a watcher that does not. */
import { type Broker, embeddedBroker } from '../../../../app/adapters/mqtt/broker.ts';
import type { MemoryFile } from '../../../../app/adapters/mqtt/memory.ts';
import {
  type MqttPublisher,
  mqttPublisher,
  type PublisherOptions,
} from '../../../../app/adapters/mqtt/publisher.ts';
import { type ManualClock, manualClock } from '../../../support/clock.ts';
import { memoryFile, type ScriptedHome, scriptedHome, silentLog } from './home.ts';
import { type Listener, listener } from './listener.ts';
import { type Relay, relayTo } from './relay.ts';

export const account = { username: 'llamastead', password: 'correct horse' };

export interface Stage extends AsyncDisposable {
  readonly broker: Broker;
  readonly relay: Relay;
  readonly clock: ManualClock;
  readonly home: ScriptedHome;
  readonly watcher: Listener;
  /** What `onBroker` was told. */
  readonly told: [up: boolean, detail: string | null][];
  /** Resolves when `onBroker` was told this. */
  becomes(up: boolean): Promise<void>;
  publisher(part?: Partial<PublisherOptions>, memory?: MemoryFile): MqttPublisher;
}

export async function stage(): Promise<Stage> {
  const broker = await embeddedBroker({ host: '127.0.0.1', port: 0, ...account, log: silentLog });
  const relay = await relayTo(broker.port);
  const watcher = await listener(broker.url, account);
  const home = scriptedHome();
  const clock = manualClock();
  const told: [boolean, string | null][] = [];
  const waiting = new Set<() => void>();
  const publishers: MqttPublisher[] = [];
  return {
    broker,
    relay,
    clock,
    home,
    watcher,
    told,
    becomes: (up) =>
      new Promise((resolve) => {
        const check = () => {
          if (told.at(-1)?.[0] !== up) return;
          waiting.delete(check);
          resolve();
        };
        waiting.add(check);
        check();
      }),
    publisher(part = {}, memory = memoryFile()) {
      const made = mqttPublisher({
        ...{
          url: relay.url,
          ...account,
          base: 'llamastead',
          instance: 'home',
          discoveryPrefix: 'homeassistant',
        },
        ...{
          gate: home.gate,
          events: home.events,
          settings: home.settings,
          drills: home.drills,
          memory,
          version: '0.1.0',
        },
        ...{ pageUrl: 'http://nas:11535/', clock, random: () => 0.5, log: silentLog },
        onBroker(up, detail) {
          told.push([up, detail]);
          for (const check of waiting) check();
        },
        ...part,
      });
      publishers.push(made);
      return made;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(publishers.map((publisher) => publisher.stop()));
      await watcher.close();
      relay.close();
      await broker.close();
    },
  };
}
