/** MQTT: the embedded broker, unless another one is named, and the publisher that tells it everything. */

import { type Broker, embeddedBroker } from '../adapters/mqtt/broker.ts';
import { type MqttPublisher, mqttPublisher } from '../adapters/mqtt/publisher.ts';
import type { Config } from '../config.ts';
import type { ProblemCode } from '../core/codes.ts';
import type { Problem } from '../core/types.ts';
import type { BrokerView } from '../core/view.ts';
import { AppError } from '../errors.ts';
import type { Log } from '../log.ts';
import type { Drills } from '../ports/drills.ts';
import type { Clock, EventLog, Gate, JsonFile, Settings } from '../ports.ts';

/** A port that is taken may become free. */
const LISTEN_RETRY_MS = 10_000;
const EVERYWHERE = new Set(['0.0.0.0', '::']);

export interface MqttParts {
  readonly config: Config['mqtt'];
  /** Of the embedded broker, where the configuration gives none. */
  readonly madePassword: string;
  readonly gate: Gate;
  readonly events: EventLog;
  readonly settings: Settings;
  readonly drills: Pick<Drills, 'runEach'>;
  readonly memoryFile: JsonFile;
  readonly version: string;
  /** Asked when it connects. */
  readonly pageUrl: () => string | null;
  /** The file that `madePassword` stands in. */
  readonly passwordFile: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly onBroker: (up: boolean, detail: string | null) => void;
  readonly problem: (problem: Problem) => void;
  readonly problemGone: (code: ProblemCode) => void;
}

export interface MqttEdge {
  start(): Promise<void>;
  /** Says `offline` and ends the broker. */
  stop(): Promise<void>;
  /** True where MQTT is off or connected. */
  up(): boolean;
  /** Null where MQTT is off. */
  broker(): BrokerView | null;
  /** Of the embedded broker; null where it is off. */
  brokerPassword(): string | null;
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
      drills: parts.drills,
      memory: parts.memoryFile,
      version: parts.version,
      pageUrl: parts.pageUrl(),
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
    broker() {
      const up = publisher?.up() ?? false;
      if (config.url !== null) return { ...externalBroker(config.url), username: config.username, up };
      return embedded.on ? { ...embeddedView(parts, broker), up } : null;
    },
    brokerPassword: () => (config.url === null && embedded.on ? password : null),
  };
}

function embeddedView({ config, passwordFile }: MqttParts, broker: Broker | null) {
  const { host, port, username, password } = config.embedded;
  return {
    kind: 'embedded',
    host: EVERYWHERE.has(host) ? null : host,
    port: broker?.port ?? port,
    tls: false,
    username,
    passwordIn: password === null ? passwordFile : null,
  } as const;
}

/** `url` as the configuration takes it: mqtt, mqtts, ws or wss. */
function externalBroker(url: string) {
  const { protocol, hostname, port } = new URL(url);
  const tls = protocol === 'mqtts:' || protocol === 'wss:';
  const usual = { 'mqtt:': 1883, 'mqtts:': 8883, 'ws:': 80, 'wss:': 443 }[protocol] ?? 1883;
  return {
    kind: 'external',
    host: hostname,
    port: port === '' ? usual : Number(port),
    tls,
    passwordIn: null,
  } as const;
}

function brokerFailed(detail: string): Problem {
  return {
    code: 'broker_failed',
    text: `The embedded MQTT broker does not run: ${detail}`,
    fix: 'Set another port under mqtt.embedded.port, or name your own broker under mqtt.url.',
  };
}
