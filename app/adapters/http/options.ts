/**
 * What the HTTP server is made from.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { BrokerView } from '../../core/view.ts';
import type { Drills } from '../../ports/drills.ts';
import type { Clock, EventLog, Gate, Settings } from '../../ports.ts';
import type { Bounds } from './bounded-server.ts';
import type { HttpAddress } from './lifecycle.ts';
import type { Metrics } from './metrics.ts';
import type { Security } from './security/guard.ts';
import type { PageLanguage } from './static.ts';

/** What the probes tell; each reason is a plain sentence. */
export interface Health {
  readonly alive: boolean;
  readonly ready: boolean;
  readonly reasons: readonly string[];
}

export interface HttpLog {
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** What the home knows of how it is reached. */
export interface Access {
  /** The page's address on the local network; null where it is not known. */
  url(): string | null;
  /** Null: MQTT is off. */
  broker(): BrokerView | null;
  /** Of the embedded broker; null where it is off. */
  brokerPassword(): string | null;
}

/** Fits Express and plain `node:http`; calls `next` for a path that it does not know. */
export type ModelHandler = (
  req: IncomingMessage,
  res: ServerResponse,
  next: (error?: unknown) => void,
) => void;

export interface HttpServerOptions {
  readonly listen: HttpAddress;
  /** Answers `/v1/*` and `/api/*`. */
  readonly modelApi: ModelHandler;
  readonly gate: Gate;
  readonly events: EventLog;
  readonly settings: Settings;
  readonly drills: Drills;
  /** Read on each request: a reload may change it. */
  readonly security: () => Security;
  readonly health: () => Health;
  readonly access: Access;
  readonly metrics: Pick<Metrics, 'contentType' | 'text'>;
  /** Folder of the built page. */
  readonly webRoot: string;
  /** Language of the page: `auto` follows the browser. */
  readonly language: () => PageLanguage | 'auto';
  /** Other bounds than the usual ones. */
  readonly bounds?: Partial<Bounds>;
  readonly clock: Clock;
  readonly log: HttpLog;
}
