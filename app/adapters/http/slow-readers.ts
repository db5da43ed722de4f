/**
 * Answers that are complete but not taken: their bytes wait in memory for their clients. Together they get a
 * bounded room, and each a bounded time without a byte taken. A stream needs none: its instance waits.
 */
import type { ServerResponse } from 'node:http';
import type { Clock } from '../../ports.ts';
import { READER_MS } from './forward/watch.ts';

/** Eight of the largest answers that are held. */
const MOST_BYTES = 32 * 1024 * 1024;
/** A client that reads has taken the largest answer after this, over poor Wi-Fi too. */
const SLOW_MS = 10_000;

export interface SlowReadersOptions {
  readonly clock: Clock;
  readonly mostBytes?: number;
  readonly patienceMs?: number;
  /** An answer was cut that had so many bytes left. */
  readonly onCut: (bytes: number) => void;
}

interface Waiting {
  /** What was left when the answer was complete. */
  readonly bytes: number;
  readonly since: number;
}

/** Watches an answer to its end; call it for each one before it is written. */
export function slowReaders(options: SlowReadersOptions): (res: ServerResponse) => void {
  const { clock, mostBytes = MOST_BYTES, patienceMs = READER_MS, onCut } = options;
  /** The oldest first. */
  const waiting = new Map<ServerResponse, Waiting>();
  let taken = 0;

  function done(res: ServerResponse): void {
    taken -= waiting.get(res)?.bytes ?? 0;
    waiting.delete(res);
  }

  function cut(res: ServerResponse): void {
    onCut(res.socket?.writableLength ?? 0);
    done(res);
    res.destroy();
  }

  function makeRoom(): void {
    for (const [res, { since }] of waiting) {
      if (taken <= mostBytes || clock.now().mono - since < SLOW_MS) return;
      cut(res);
    }
  }

  return (res) => {
    res.once('prefinish', () => {
      const bytes = res.socket?.writableLength ?? 0;
      if (bytes === 0) return;
      waiting.set(res, { bytes, since: clock.now().mono });
      taken += bytes;
      res.once('finish', () => done(res));
      res.once('close', () => done(res));
      // Node looks at the bytes that went out, so it ends only a client that takes nothing.
      res.setTimeout(patienceMs, () => cut(res));
      makeRoom();
    });
  };
}
