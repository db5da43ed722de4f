/**
 * All open event streams: wakes them for facts and states, keeps them alive, bounds their number, and ends
 * those whose right to listen is gone. With none open it watches nothing.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock, EventLog, Gate } from '../../../ports.ts';
import { createSnapshots } from './snapshots.ts';
import { type EventStream, openStream } from './stream.ts';

const PING_MS = 15_000;
const BLOCKED_MS = 60_000;
const MOST_STREAMS = 100;

export interface Hub {
  /** Takes over the answer; false when there are too many streams already. `from`: the last number known. */
  open(req: IncomingMessage, res: ServerResponse, from: number): boolean;
  /** Ends all streams and takes no more. */
  close(): void;
}

export function createHub(options: {
  readonly gate: Gate;
  readonly events: EventLog;
  readonly clock: Clock;
  /** Asked at each ping: may this client still listen? */
  readonly mayListen: (req: IncomingMessage) => boolean;
}): Hub {
  const { events, clock } = options;
  const streams = new Map<EventStream, IncomingMessage>();
  const snapshots = createSnapshots({ gate: options.gate, clock, due: tellState });
  let closed = false;
  let stopFacts: (() => void) | null = null;
  let stopPing: (() => void) | null = null;
  let pumping = false;

  function tellState(): void {
    for (const stream of streams.keys()) {
      stream.stateDue();
      stream.pump();
    }
  }

  /** Facts come in runs; one pump takes them all. */
  function factCame(): void {
    snapshots.renumbered();
    if (pumping) return;
    pumping = true;
    setImmediate(() => {
      pumping = false;
      for (const stream of streams.keys()) stream.pump();
    });
  }

  function pingAll(): void {
    const now = clock.now().mono;
    for (const [stream, req] of streams) {
      const blocked = stream.blockedSince();
      if (blocked !== null && now - blocked >= BLOCKED_MS) stream.cut();
      else if (!options.mayListen(req)) stream.end();
      else stream.ping();
    }
    stopPing = clock.at(now + PING_MS, pingAll);
  }

  function watch(): void {
    if (stopFacts !== null) return;
    snapshots.start();
    stopFacts = events.subscribe(factCame);
    stopPing = clock.at(clock.now().mono + PING_MS, pingAll);
  }

  function rest(): void {
    snapshots.stop();
    stopFacts?.();
    stopPing?.();
    stopFacts = null;
    stopPing = null;
  }

  return {
    open(req, res, from) {
      if (closed || streams.size >= MOST_STREAMS) return false;
      watch();
      const now = (): number => clock.now().mono;
      const stream = openStream({ res, events, from, stateText: snapshots.text, now });
      streams.set(stream, req);
      res.once('close', () => {
        streams.delete(stream);
        if (streams.size === 0) rest();
      });
      return true;
    },
    close() {
      closed = true;
      for (const stream of streams.keys()) stream.end();
    },
  };
}
