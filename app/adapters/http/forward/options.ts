/** What the model API is made from, and what it gives back. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { InstanceId, RequestId } from '../../../core/request.ts';
import type { Speed } from '../../../core/speed.ts';
import type { Placement } from '../../../core/types.ts';
import type { AttemptMeasurement, Clock, Gate, InstanceAddress } from '../../../ports.ts';
import type { KeyedOutcome } from '../keyed/index.ts';

/** An instance as the forwarder sees it. */
export interface Target extends InstanceAddress {
  /** Canonical name of its model. */
  readonly model: string;
  /** Names what it was made from: equal for instances that are made alike. */
  readonly profile: string;
}

/** Limits and deadlines; read anew for each request, so a reload may change them. */
export interface ForwardSettings {
  /** Largest request body, bytes. */
  readonly bodyLimit: number;
  /** No connection within this is `refused`. */
  readonly connectMs: number;
  /** Content that stops for longer is a stall, but on the CPU. */
  readonly stallMs: number;
  /** After so long without a byte the instance is asked for a sign of life, and has as long to give one. */
  readonly silenceMs: number;
  readonly firstToken: number | 'auto';
  /** A text whose instance died may be continued by another one. */
  readonly resume: boolean;
  /** A stream's head is sent after this, with comments. */
  readonly keepaliveMs: number;
  /** API keys are configured, so a request's key was checked before it came here. */
  readonly keysChecked: boolean;
}

/** A model as `/v1/models` shows it. */
export interface CatalogModel {
  readonly name: string;
  readonly displayName: string;
  readonly aliases: readonly string[];
  readonly task: string;
  /** Tokens per request. */
  readonly context: number;
}

/** How a model request ended, told once a request. */
export interface RequestMeasurement {
  readonly model: string;
  readonly placement: Placement | 'none';
  readonly outcome: 'completed' | 'failed' | 'deadline' | 'client_gone';
  readonly attempts: number;
  readonly queuedMs: number;
}

export interface ForwardMetrics {
  /** An attempt was answered whole. */
  attempt(measurement: AttemptMeasurement): void;
  /** An attempt failed; its request may go on elsewhere. */
  attemptFailed(attempt: Pick<AttemptMeasurement, 'model' | 'placement'>): void;
  request(measurement: RequestMeasurement): void;
  /** A request with an idempotency key came, and this became of it. */
  keyed(outcome: KeyedOutcome): void;
}

export interface ForwardLog {
  debug(fields: object, message: string): void;
}

export interface ModelApiOptions {
  readonly gate: Pick<Gate, 'request' | 'attemptEnded' | 'abandoned' | 'slow' | 'position'>;
  /** Read once per instance; undefined before it runs and after its removal began. */
  readonly targetOf: (instance: InstanceId) => Target | undefined;
  /** What is learned of the profile that the instance was made from. */
  readonly speedOf: (instance: InstanceId) => Speed;
  readonly settings: () => ForwardSettings;
  readonly catalog: () => readonly CatalogModel[];
  /** Whether a mark is that of the running drill. Default: none is. */
  readonly isDrill?: (mark: string) => boolean;
  readonly clock: Clock;
  readonly metrics: ForwardMetrics;
  readonly log: ForwardLog;
  /** Ids of our own; shared with whoever else asks the gate. Default: a counter from 1. */
  readonly nextId?: () => RequestId;
}

/** Fits express (`app.use(handler)`, not mounted below a path) and plain `node:http`. */
export type Handler = (
  req: IncomingMessage & { originalUrl?: string },
  res: ServerResponse,
  next: (error?: unknown) => void,
) => void;

export interface ModelApi {
  /** Answers `/v1/*`; calls `next` for any other path. */
  readonly handler: Handler;
  /** Destroys our sockets to an instance; its attempts end as a reset. Its later connections are new. */
  closeConnections(instance: InstanceId): void;
  /** The controller is to end: answers under a key do not go on without a client any more. */
  hurry(): void;
  /** Destroys all connections to instances. */
  close(): void;
}
