/**
 * Connections to instances: for each instance a stack of undici clients with one socket each, the last used
 * on top. The gate grants no more requests than an instance has slots, which bounds them; llama-server
 * starves when many idle connections hold its threads. A client knows whether its socket carried a request
 * before, which a Pool hides: only then a reset without a byte of an answer is a stale connection.
 */
import net from 'node:net';
import { Client } from 'undici';
import type { InstanceId } from '../../../core/request.ts';
import { AppError } from '../../../errors.ts';
import type { Clock } from '../../../ports.ts';
import type { Target } from './options.ts';

/** One client, lent to one attempt at a time. */
export interface Lane {
  readonly client: Client;
  readonly model: string;
  /** Request headers, flat name and value, with the instance's key. */
  readonly headers: string[];
  /** Requests that the present socket has carried. */
  carried: number;
  /** We destroyed it ourselves. */
  closed: boolean;
  /** Gives it back for the next attempt; after a stream only once the server has had time to close it. */
  release(streamed: boolean): void;
}

export interface Connections {
  /** A lane with a socket that was used before where possible, unless `fresh`; undefined: no such instance. */
  take(instance: InstanceId, fresh: boolean): Lane | undefined;
  close(instance: InstanceId): void;
  closeAll(): void;
}

interface Entry {
  readonly target: Target;
  readonly headers: string[];
  readonly free: Lane[];
  /** Carried a stream just now: first in, first out. */
  readonly resting: { readonly lane: Lane; readonly until: number }[];
  readonly all: Set<Lane>;
}

/**
 * llama-server closes a connection within 0.4 ms after a stream though it announces keep-alive. What it has
 * not closed after this long it means to keep.
 */
const REST_MS = 10;

/** `connectMs` is read at each connect. */
export function connections(
  targetOf: (instance: InstanceId) => Target | undefined,
  connectMs: () => number,
  clock: Clock,
): Connections {
  const entries = new Map<InstanceId, Entry>();

  function entryOf(instance: InstanceId): Entry | undefined {
    const known = entries.get(instance);
    if (known !== undefined) return known;
    const target = targetOf(instance);
    if (target === undefined) return undefined;
    const headers = ['content-type', 'application/json', 'authorization', `Bearer ${target.key}`];
    const entry = { target, headers, free: [], resting: [], all: new Set<Lane>() };
    entries.set(instance, entry);
    return entry;
  }

  function open(entry: Entry): Lane {
    const { host, port, model } = entry.target;
    const client: Client = new Client(`http://${net.isIPv6(host) ? `[${host}]` : host}:${port}`, {
      pipelining: 1,
      headersTimeout: 0,
      bodyTimeout: 0,
      allowH2: false,
      connect: connector(host, port, connectMs, () => {
        lane.carried = 0;
      }),
    });
    const lane: Lane = {
      client,
      model,
      headers: entry.headers,
      carried: 0,
      closed: false,
      release(streamed) {
        if (lane.closed) return;
        if (streamed) entry.resting.push({ lane, until: clock.now().mono + REST_MS });
        else entry.free.push(lane);
      },
    };
    entry.all.add(lane);
    return lane;
  }

  function rested({ resting }: Entry): Lane | undefined {
    const [first] = resting;
    if (first === undefined || clock.now().mono < first.until) return undefined;
    return resting.shift()?.lane;
  }

  function close(instance: InstanceId): void {
    const entry = entries.get(instance);
    if (entry === undefined) return;
    entries.delete(instance);
    for (const lane of entry.all) {
      lane.closed = true;
      lane.client.destroy(new AppError('connection_closed', 'we closed the connection'), () => {});
    }
  }

  return {
    take(instance, fresh) {
      const entry = entryOf(instance);
      if (entry === undefined) return undefined;
      return (fresh ? undefined : (entry.free.pop() ?? rested(entry))) ?? open(entry);
    },
    close,
    closeAll() {
      for (const instance of [...entries.keys()]) close(instance);
    },
  };
}

type Connected = (...result: [Error, null] | [null, net.Socket]) => void;

/** Connects within `connectMs()`; undici's own connect deadline is coarser. */
function connector(host: string, port: number, connectMs: () => number, opened: () => void) {
  return (_options: unknown, callback: Connected): void => {
    const socket = net.connect({ host, port, noDelay: true, autoSelectFamily: false });
    const deadline = setTimeout(() => {
      socket.destroy(new AppError('connect_timeout', `no connection to ${host}:${port} in time`));
    }, connectMs());
    const failed = (error: Error) => {
      clearTimeout(deadline);
      callback(error, null);
    };
    socket.once('error', failed);
    socket.once('connect', () => {
      clearTimeout(deadline);
      socket.off('error', failed);
      opened();
      callback(null, socket);
    });
  };
}
