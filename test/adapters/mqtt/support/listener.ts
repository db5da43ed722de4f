/** A second client of a broker: keeps what it hears, and waits for what a test expects. */
import { connectAsync, type IClientOptions, type MqttClient } from 'mqtt';

export interface Message {
  readonly topic: string;
  readonly payload: string;
  readonly retain: boolean;
}

export interface Listener {
  readonly client: MqttClient;
  readonly heard: Message[];
  /** The newest message on a topic that fits; waits for it. A test's own time limit ends a wait in vain. */
  hears(topic: string, fits?: (payload: string) => boolean): Promise<Message>;
  /** Newest JSON on a topic. */
  json(topic: string, fits?: (json: Record<string, unknown>) => boolean): Promise<Record<string, unknown>>;
  say(topic: string, payload: string, options?: { retain: boolean }): Promise<void>;
  close(): Promise<void>;
}

export async function listener(
  url: string,
  account: { username: string; password: string } | null,
  filters: readonly string[] = ['#'],
  options: IClientOptions = {},
): Promise<Listener> {
  const client = await connectAsync(url, { ...(account ?? {}), reconnectPeriod: 0, ...options });
  const heard: Message[] = [];
  const checks = new Set<() => void>();
  client.on('message', (topic, payload, packet) => {
    heard.push({ topic, payload: payload.toString(), retain: packet.retain });
    for (const check of checks) check();
  });
  const self: Listener = {
    client,
    heard,
    hears: (topic, fits = () => true) =>
      new Promise((resolve) => {
        const check = () => {
          const found = heard.findLast((message) => message.topic === topic && fits(message.payload));
          if (found === undefined) return;
          checks.delete(check);
          resolve(found);
        };
        checks.add(check);
        check();
      }),
    async json(topic, fits = () => true) {
      const { payload } = await self.hears(topic, (text) => text !== '' && fits(JSON.parse(text)));
      return JSON.parse(payload);
    },
    say: async (topic, payload, { retain } = { retain: false }) => {
      await client.publishAsync(topic, payload, { qos: 1, retain });
    },
    close: () => client.endAsync(true),
  };
  await client.subscribeAsync([...filters], { qos: 1 });
  return self;
}
