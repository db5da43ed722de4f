/**
 * Tells a broker what the home does, and takes its commands: one client, one connection at a time.
 */
import type { Logger } from 'pino';
import type { Clock, EventLog, Gate, Settings } from '../../ports.ts';

/** What has to outlive a restart so that no event is told twice and no entity stays behind as a ghost. */
export interface MqttMemory {
  /** Number of the last event that the broker took. */
  readonly told: number;
  /** Devices announced to Home Assistant: object id -> component key -> platform. */
  readonly announced: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

export interface MqttMemoryStore {
  /** Null at the first start or where it can't be read. */
  load(): Promise<MqttMemory | null>;
  save(memory: MqttMemory): Promise<void>;
}

export interface PublisherOptions {
  /** `mqtt://host:port` or `mqtts://host:port`; the embedded broker's `url`. */
  readonly url: string;
  readonly username: string | null;
  readonly password: string | null;
  /** First part of every topic. */
  readonly base: string;
  readonly instance: string;
  readonly discoveryPrefix: string;
  readonly gate: Gate;
  readonly events: EventLog;
  readonly settings: Settings;
  readonly memory: MqttMemoryStore;
  readonly version: string;
  /** The page, linked from the device; null where its address is not known. */
  readonly pageUrl: string | null;
  readonly clock: Clock;
  /** In [0, 1): spreads reconnects and the answer to a birth message. */
  readonly random: () => number;
  readonly log: Logger;
  /** Told at each change, and once at the first failure to connect. */
  readonly onBroker: (up: boolean, detail: string | null) => void;
}

export interface MqttPublisher {
  start(): Promise<void>;
  /** Says `offline`, ends the connection, saves; resolves when the socket is closed. */
  stop(): Promise<void>;
  /** True while connected. */
  up(): boolean;
}

/** Never throws and never ends the process: a lost broker is told by `onBroker` and tried again. */
export declare function mqttPublisher(options: PublisherOptions): MqttPublisher;
