/**
 * The embedded MQTT broker, for homes without one of their own.
 */
import type { Logger } from 'pino';

/** Where it listens and who may come in. Port 0: any free one. */
export interface BrokerOptions {
  readonly host: string;
  readonly port: number;
  readonly username: string;
  readonly password: string;
  readonly log: Logger;
}

export interface Broker {
  readonly port: number;
  /** For a client on this machine; without the password. */
  readonly url: string;
  /** Ends every connection and stops listening. */
  close(): Promise<void>;
}

/** 24 characters without look-alikes, from at least 24 random bytes. Pure, so that tests can repeat it. */
export declare function makePassword(random: Uint8Array): string;

/** Resolves when it listens. Rejects with AppError `broker_failed` (details: host, port, system code). */
export declare function embeddedBroker(options: BrokerOptions): Promise<Broker>;
