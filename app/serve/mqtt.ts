/** MQTT: the embedded broker, unless another one is named, and the publisher that tells it everything. */
import { type Broker, embeddedBroker } from '../adapters/mqtt/broker.ts';
import { type MqttPublisher, mqttPublisher } from '../adapters/mqtt/publisher.ts';
import type { Config } from '../config.ts';
import type { Problem } from '../core/types.ts';
import { AppError } from '../errors.ts';
import type { Log } from '../log.ts';
import type { Clock, EventLog, Gate, JsonFile, Settings } from '../ports.ts';

/** A port that is taken may become free. */
const LISTEN_RETRY_MS = 10_000;

export interface MqttParts {
  readonly config: Config['mqtt'];
  /** Of the embedded broker, where the configuration gives none. */
  readonly madePassword: string;
  readonly gate: Gate;
  readonly events: EventLog;
  readonly settings: Settings;
  readonly memoryFile: JsonFile;
  readonly version: string;
  readonly pageUrl: string | null;
  readonly clock: Clock;
  readonly log: Log;
  readonly onBroker: (up: boolean, detail: string | null) => void;
  readonly problem: (problem: Problem) => void;
  readonly problemGone: (code: string) => void;
}

export interface MqttEdge {
  start(): Promise<void>;
  /** Says `offline` and ends the broker. */
  stop(): Promise<void>;
  /** True where MQTT is off or connected. */
  up(): boolean;
}

export function mqttEdge(parts: MqttParts): MqttEdge {
  const { config, clock } = parts;
  const { embedded } = config;
  const password = embedded.password ?? parts.madePassword;
  let broker: Broker | null = null;
  let publisher: MqttPublisher | null = null;
  let cancelRetry = (): void => {};

  if (config.password !== null) parts.log.hide(config.password);
  parts.log.hide(password);

  async function listen(): Promise<void> {
    const { host, port, username } = embedded;
    try {
      broker = await embeddedBroker({ host, port, username, password, log: parts.log.logger });
      parts.problemGone('broker_failed');
      await publish(broker.url, username, password);
    } catch (thrown) {
      parts.problem(brokerFailed(AppError.from(thrown).message));
      cancelRetry = clock.at(clock.now().mono + LISTEN_RETRY_MS, () => void listen());
    }
  }

  async function publish(url: string, username: string | null, secret: string | null): Promise<void> {
    const { base, instance, discovery } = config;
    publisher = mqttPublisher({
      url,
      username,
      password: secret,
      base,
      instance,
      discoveryPrefix: discovery,
      gate: parts.gate,
      events: parts.events,
      settings: parts.settings,
      memory: parts.memoryFile,
      version: parts.version,
      pageUrl: parts.pageUrl,
      clock,
      random: Math.random,
      log: parts.log.logger,
      onBroker: parts.onBroker,
    });
    await publisher.start();
  }

  const off = config.url === null && !embedded.on;
  return {
    async start() {
      if (config.url !== null) await publish(config.url, config.username, config.password);
      else if (embedded.on) await listen();
    },
    async stop() {
      cancelRetry();
      await publisher?.stop();
      await broker?.close();
    },
    up: () => off || (publisher?.up() ?? false),
  };
}

function brokerFailed(detail: string): Problem {
  return {
    code: 'broker_failed',
    text: `The embedded MQTT broker does not run: ${detail}`,
    fix: 'Set another port under mqtt.embedded.port, or name your own broker under mqtt.url.',
  };
}
