/**
 * Wrong tokens wait: an address may try ten different ones, then one every five seconds. The same wrong
 * token again is a program with an old setting, no guess, and costs nothing; it must not lock out the
 * others behind the same address (on Docker's bridge, clients may all seem to come from its gateway).
 */
import type { Clock } from '../../../ports.ts';
import { fingerprint } from './tokens.ts';

const TRIES = 10;
const REFILL_MS = 5_000;
const ADDRESSES = 1_000;
const REMEMBERED = 20;

interface Tries {
  left: number;
  at: number;
  readonly seen: Set<string>;
}

export interface Attempts {
  /** Seconds until this address may try another token; 0: now. */
  wait(address: string): number;
  /** Notes a wrong token of this address; false when it is a repeated one, which does not count. */
  wrong(address: string, token: string): boolean;
}

/** Bounded memory: beyond 1,000 addresses the one that tried longest ago is forgotten. */
export function createAttempts(clock: Clock): Attempts {
  const byAddress = new Map<string, Tries>();

  function refilled(address: string): Tries {
    const now = clock.now().mono;
    const tries = byAddress.get(address) ?? { left: TRIES, at: now, seen: new Set<string>() };
    const back = Math.floor((now - tries.at) / REFILL_MS);
    tries.left = Math.min(TRIES, tries.left + back);
    tries.at = tries.left === TRIES ? now : tries.at + back * REFILL_MS;
    return tries;
  }

  return {
    wait(address) {
      if (!byAddress.has(address)) return 0;
      const tries = refilled(address);
      if (tries.left > 0) return 0;
      return Math.max(1, Math.ceil((tries.at + REFILL_MS - clock.now().mono) / 1_000));
    },
    wrong(address, token) {
      const tries = refilled(address);
      const hash = fingerprint(token).toString('base64');
      const repeated = tries.seen.delete(hash);
      tries.seen.add(hash);
      if (!repeated) tries.left = Math.max(0, tries.left - 1);
      trim(tries.seen, REMEMBERED);
      byAddress.delete(address);
      byAddress.set(address, tries);
      trim(byAddress, ADDRESSES);
      return !repeated;
    },
  };
}

/** Drops the oldest entries over `limit`. */
function trim(entries: Set<string> | Map<string, Tries>, limit: number): void {
  for (const key of entries.keys()) {
    if (entries.size <= limit) return;
    entries.delete(key);
  }
}
