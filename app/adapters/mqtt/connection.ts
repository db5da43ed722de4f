/**
 * One client of a broker, one connection at a time. A lost one is made anew after a wait that doubles; no
 * message is queued for the next connection, so the caller alone decides what is told again.
 */
import { Socket } from 'node:net';
import { connect, type IClientOptions, type MqttClient } from 'mqtt';
import { AppError } from '../../errors.ts';
import type { Clock } from '../../ports.ts';

export interface ConnectionOptions {
  readonly url: string;
  readonly username: string | null;
  readonly password: string | null;
  readonly clientId: string;
  /** Says `online` or `offline`; `offline` is the last will. */
  readonly availability: string;
  readonly filters: readonly string[];
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly onUp: (session: Session) => void;
  /** Each time that a connection is lost or not to be had. */
  readonly onDown: (detail: string) => void;
  readonly onMessage: (topic: string, payload: Buffer, retained: boolean) => void;
}

/** A connection while it lasts. */
export interface Session {
  /** True when the broker has taken it (QoS 1), false when the connection ended before. Never rejects. */
  publish(topic: string, payload: string, retain: boolean): Promise<boolean>;
}

export interface Connection {
  open(): void;
  /** Says `offline` where connected; resolves when the socket is closed, after 2 s at the latest. */
  close(): Promise<void>;
}

const FIRST_WAIT = 1_000;
const LONGEST_WAIT = 60_000;
/** A connection that lasted so long was a good one: the next wait is the first again. */
const GOOD_AFTER = 10_000;
const CLOSE_WAIT = 2_000;

interface Live {
  readonly client: MqttClient;
  readonly session: Session;
  /** Null until it is subscribed. */
  upSince: number | null;
  end(): void;
}

/** Nothing happens until `open`. */
export function connection(options: ConnectionOptions): Connection {
  const { clock } = options;
  let live: Live | null = null;
  let cancelWait: (() => void) | null = null;
  let failures = 0;
  let closed = false;

  const again = (detail: string) => {
    if (closed) return;
    options.onDown(detail);
    const wait = Math.min(FIRST_WAIT * 2 ** failures, LONGEST_WAIT) * (0.5 + options.random() / 2);
    failures += 1;
    cancelWait = clock.at(clock.now().mono + wait, attempt);
  };
  const attempt = () => {
    cancelWait = null;
    try {
      live = dial(options, ended);
    } catch (thrown) {
      again(AppError.from(thrown).message);
    }
  };
  const ended = (detail: string, upSince: number | null) => {
    live = null;
    if (upSince !== null && clock.now().mono - upSince >= GOOD_AFTER) failures = 0;
    again(detail);
  };
  return {
    open: attempt,
    async close() {
      closed = true;
      cancelWait?.();
      if (live !== null) await hangUp(live, options);
    },
  };
}

/** `ended` is called once. */
function dial(options: ConnectionOptions, ended: (detail: string, upSince: number | null) => void): Live {
  const client = connect(options.url, clientOptions(options));
  const waiting = new Set<(taken: boolean) => void>();
  let over = false;
  let detail = 'the broker closed the connection';
  const live: Live = {
    client,
    session: { publish },
    upSince: null,
    end() {
      if (over) return;
      over = true;
      client.end(true);
      for (const resolve of waiting) resolve(false);
      ended(detail, live.upSince);
    },
  };
  function publish(topic: string, payload: string, retain: boolean): Promise<boolean> {
    if (over) return Promise.resolve(false);
    return new Promise((resolve) => {
      waiting.add(resolve);
      client.publish(topic, payload, { qos: 1, retain }, (error) => {
        waiting.delete(resolve);
        resolve(!error);
      });
    });
  }
  const fail = (error: unknown) => {
    detail = describe(error);
    live.end();
  };
  // Kept after the end: an error without a listener would end the process.
  client.on('error', fail);
  client.on('close', live.end);
  client.on('message', (topic, payload, packet) => {
    if (!over) options.onMessage(topic, payload, packet.retain);
  });
  client.on('connect', () => {
    // Small messages one after the other: without this each waits for the acknowledgement of the last.
    if (client.stream instanceof Socket) client.stream.setNoDelay(true);
    client.subscribeAsync([...options.filters], { qos: 1 }).then(() => {
      if (over) return;
      live.upSince = options.clock.now().mono;
      options.onUp(live.session);
    }, fail);
  });
  return live;
}

function clientOptions(options: ConnectionOptions): IClientOptions {
  return {
    clientId: options.clientId,
    ...(options.username === null ? {} : { username: options.username }),
    ...(options.password === null ? {} : { password: options.password }),
    protocolVersion: 4,
    clean: true,
    keepalive: 30,
    connectTimeout: 10_000,
    reconnectPeriod: 0,
    resubscribe: false,
    queueQoSZero: false,
    will: { topic: options.availability, payload: Buffer.from('offline'), qos: 1, retain: true },
  };
}

/** A clean DISCONNECT takes the last will back, so `offline` is said first. */
async function hangUp(live: Live, { availability, clock }: ConnectionOptions): Promise<void> {
  const { client } = live;
  await new Promise<void>((resolve) => {
    const cancel = clock.at(clock.now().mono + CLOSE_WAIT, () => {
      client.end(true);
      resolve();
    });
    const done = () => {
      cancel();
      resolve();
    };
    if (live.upSince === null) client.end(true, done);
    else void live.session.publish(availability, 'offline', true).then(() => client.end(false, {}, done));
  });
}

/** Node joins the failures of several addresses into an error without a message. */
function describe(error: unknown): string {
  const found = error instanceof AggregateError ? error.errors[0] : error;
  return AppError.from(found).message;
}
