/** Deadlines of one attempt: until the first content, then from byte to byte; and for a client that takes nothing. */
import type { Clock } from '../../../ports.ts';
import type { Alarms } from './alarms.ts';

/** A client that takes nothing for so long is taken for gone. */
export const READER_MS = 300_000;

export interface Watch {
  /** The first content must be there `ms` from now; Infinity: no limit. */
  expectFirst(ms: number): void;
  /** Bytes came; `begun`: the first content was among them, or before. */
  bytes(begun: boolean): void;
  /** It said that it is alive, and nothing else. */
  ping(): void;
  /** We stopped reading since the client is slow, or read again. */
  paused(paused: boolean): void;
  /** When the last bytes came (monotonic ms); -Infinity: none did. */
  heardAt(): number;
  stop(): void;
}

/** `half_way`: no failure yet, but half of the time to the first content is over. */
export type Missed = 'half_way' | 'first_token_deadline' | 'stall' | 'frozen' | 'client_deadline' | 'reader';

export interface WatchOptions {
  readonly clock: Clock;
  readonly alarms: Alarms;
  /** From byte to byte (ms; Infinity: no limit). */
  readonly stallMs: number;
  /** Whether the instance has other work that may make content pause. */
  readonly isReading: () => boolean;
  /** Until the first content (ms from now; Infinity: no limit). */
  readonly firstMs: number;
  /** The client's own deadline, until the first content (monotonic ms; Infinity: none). */
  readonly clientDeadline: number;
  readonly missed: (what: Missed) => void;
}

/** Starts at once. */
export function watch(options: WatchOptions): Watch {
  const { clock, alarms, stallMs, firstMs, clientDeadline, missed } = options;
  let firstAt = clock.now().mono + firstMs;
  /** Told once: whoever hears it prepares for the worst until the attempt's end. */
  let halfAt = clock.now().mono + firstMs / 2;
  let lastBytes = 0;
  let heardAt = Number.NEGATIVE_INFINITY;
  let begun = false;
  let pausedAt: number | null = null;
  const alarm = { at: Math.min(halfAt, clientDeadline), index: 0, ring };
  alarms.add(alarm);

  function due(): number {
    if (pausedAt !== null) return pausedAt + READER_MS;
    return begun ? lastBytes + stallMs : Math.min(halfAt, firstAt, clientDeadline);
  }

  function moved(): void {
    const at = due();
    const sooner = at < alarm.at;
    alarm.at = at;
    if (sooner) alarms.sooner(alarm);
  }

  function ring(): void {
    if (clock.now().mono < due()) moved();
    else if (pausedAt !== null) missed('reader');
    else if (begun && options.isReading()) {
      lastBytes = clock.now().mono;
      moved();
    } else if (begun) missed('stall');
    else if (halfAt < Math.min(firstAt, clientDeadline)) {
      halfAt = Number.POSITIVE_INFINITY;
      moved();
      missed('half_way');
    } else missed(firstAt <= clientDeadline ? 'first_token_deadline' : 'client_deadline');
  }

  return {
    expectFirst(ms) {
      firstAt = clock.now().mono + ms;
      if (halfAt < Number.POSITIVE_INFINITY) halfAt = clock.now().mono + ms / 2;
      moved();
    },
    bytes(nowBegun) {
      begun = nowBegun;
      heardAt = clock.now().mono;
      if (!begun) return;
      lastBytes = heardAt;
      moved();
    },
    ping() {
      heardAt = clock.now().mono;
    },
    paused(paused) {
      pausedAt = paused ? clock.now().mono : null;
      lastBytes = clock.now().mono;
      moved();
    },
    heardAt: () => heardAt,
    stop() {
      alarms.remove(alarm);
    },
  };
}
