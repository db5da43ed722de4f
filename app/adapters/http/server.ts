/**
 * The one address: model API, admin API, page, metrics, health on one port.
 */
import type { RequestHandler } from 'express';
import type { Clock, EventLog, Gate, Settings } from '../../ports.ts';
import type { Metrics } from './metrics.ts';
import type { Security } from './security/guard.ts';

/** What the probes tell; each reason is a plain sentence. */
export interface Health {
  readonly alive: boolean;
  readonly ready: boolean;
  readonly reasons: readonly string[];
}

/** Where the server listens. */
export interface HttpAddress {
  readonly host: string;
  readonly port: number;
}

export interface HttpLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export interface HttpServerOptions {
  readonly listen: HttpAddress;
  /** Answers `/v1/*` and `/api/*`; calls `next` for a path that it does not know. */
  readonly modelApi: RequestHandler;
  readonly gate: Gate;
  readonly events: EventLog;
  readonly settings: Settings;
  /** Read on each request: a reload may change it. */
  readonly security: () => Security;
  readonly health: () => Health;
  readonly metrics: Metrics;
  /** Folder of the built page. */
  readonly webRoot: string;
  /** Language of the page: `auto` follows the browser. */
  readonly language: () => 'auto' | 'en' | 'ko' | 'zh';
  readonly clock: Clock;
  readonly log: HttpLog;
}

export interface HttpServer {
  /** Resolves with the address once it listens (port 0: a free one); rejects with AppError `listen_failed`. */
  listen(): Promise<HttpAddress>;
  /** Accepts no more, ends event streams, gives requests in flight `graceMs` to end, then cuts them. */
  close(graceMs: number): Promise<void>;
}

export function httpServer(_options: HttpServerOptions): HttpServer {
  throw new Error('not built yet');
}
