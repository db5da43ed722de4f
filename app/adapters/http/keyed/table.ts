/**
 * The answers that are kept for their idempotency keys: which there are, how much memory they take, and which
 * have to go. Pure but for the bytes it holds; time is an argument. Its bound holds after each call.
 */
import { newPages, type Pages } from './pages.ts';

export interface Limits {
  /** The largest answer that is kept, bytes. */
  readonly answerBytes: number;
  /** All answers together, bytes of memory. */
  readonly totalBytes: number;
  /** What an answer counts beside its bytes. */
  readonly entryBytes: number;
  /** How long a whole answer is kept, ms. */
  readonly keptMs: number;
}

/** `too_large` for one answer, or there was `no_room` among the others. */
export type GoneBecause = 'too_large' | 'no_room';

export type AnswerState =
  | { readonly is: 'running' }
  /** It runs, but its bytes are no longer kept: nobody can join it. */
  | { readonly is: 'passing'; readonly why: GoneBecause }
  | { readonly is: 'kept'; readonly until: number }
  /** It was given, so the key is taken, but its bytes are not here. */
  | { readonly is: 'gone'; readonly until: number; readonly why: GoneBecause }
  /** It is not in the table any more. */
  | { readonly is: 'freed' };

export interface Head {
  readonly status: number;
  /** Flat name, value. */
  readonly headers: readonly string[];
}

export interface KeyedAnswer {
  readonly id: string;
  /** Of the request's body. */
  readonly bodyHash: string;
  readonly pages: Pages;
  head: Head | null;
  state: AnswerState;
  /** Who reads it now; it does not go while somebody does. */
  readers: number;
}

export type Found =
  | { readonly kind: 'none' }
  | { readonly kind: 'other_body' }
  | { readonly kind: 'gone'; readonly why: GoneBecause }
  | { readonly kind: 'here'; readonly answer: KeyedAnswer };

export interface AnswerTable {
  /** What the key of this id stands for. Call `expire` first. */
  find(id: string, bodyHash: string): Found;
  /** A new answer that runs; null: those that run or are being read leave no room. The id must be free. */
  open(id: string, bodyHash: string): KeyedAnswer | null;
  /** Adds bytes to one that runs, or says why they do not fit; older answers may have gone for them. */
  write(answer: KeyedAnswer, bytes: Buffer): 'written' | GoneBecause;
  /** The bytes of one that runs are no longer kept. */
  drop(answer: KeyedAnswer, why: GoneBecause): void;
  /** It ran to its end. `keep`: it is the answer for its key; else the key is free again. */
  end(answer: KeyedAnswer, keep: boolean, now: number): void;
  /** Those whose time is over and that nobody reads go. */
  expire(now: number): void;
  /** When `expire` has something to do next (monotonic ms); null: nothing. */
  nextDue(): number | null;
  /** Memory taken, bytes. */
  bytes(): number;
}

/** Starts empty. */
export function answerTable(limits: Limits): AnswerTable {
  const running = new Map<string, KeyedAnswer>();
  /** In the order in which they ended, which is the order in which they go. */
  const ended = new Map<string, KeyedAnswer>();
  let taken = 0;

  function clear(answer: KeyedAnswer): void {
    taken -= answer.pages.taken();
    answer.pages.clear();
  }

  function remove(answer: KeyedAnswer): void {
    clear(answer);
    taken -= limits.entryBytes;
    ended.delete(answer.id);
    answer.state = { is: 'freed' };
  }

  /** Makes room by the bytes of the oldest; what they were given for stays known. */
  function room(bytes: number): boolean {
    if (taken + bytes <= limits.totalBytes) return true;
    for (const answer of ended.values()) {
      if (answer.state.is !== 'kept' || answer.readers > 0) continue;
      clear(answer);
      answer.state = { is: 'gone', until: answer.state.until, why: 'no_room' };
      if (taken + bytes <= limits.totalBytes) return true;
    }
    return false;
  }

  function roomForEntry(): boolean {
    if (room(limits.entryBytes)) return true;
    for (const answer of ended.values()) {
      if (answer.readers > 0) continue;
      remove(answer);
      if (room(limits.entryBytes)) return true;
    }
    return false;
  }

  return {
    find(id, bodyHash) {
      const answer = running.get(id) ?? ended.get(id);
      if (answer === undefined) return { kind: 'none' };
      if (answer.bodyHash !== bodyHash) return { kind: 'other_body' };
      const { state } = answer;
      return 'why' in state ? { kind: 'gone', why: state.why } : { kind: 'here', answer };
    },
    open(id, bodyHash) {
      if (!roomForEntry()) return null;
      taken += limits.entryBytes;
      const state: AnswerState = { is: 'running' };
      const answer: KeyedAnswer = { id, bodyHash, pages: newPages(), head: null, state, readers: 0 };
      running.set(id, answer);
      return answer;
    },
    write({ pages }, bytes) {
      if (pages.length() + bytes.length > limits.answerBytes) return 'too_large';
      const cost = pages.cost(bytes.length);
      if (!room(cost)) return 'no_room';
      pages.write(bytes);
      taken += cost;
      return 'written';
    },
    drop(answer, why) {
      clear(answer);
      answer.state = { is: 'passing', why };
    },
    end(answer, keep, now) {
      running.delete(answer.id);
      ended.set(answer.id, answer);
      if (!keep) {
        remove(answer);
        return;
      }
      const before = answer.pages.taken();
      answer.pages.trim();
      taken -= before - answer.pages.taken();
      const until = now + limits.keptMs;
      const { state } = answer;
      answer.state = 'why' in state ? { is: 'gone', until, why: state.why } : { is: 'kept', until };
    },
    expire(now) {
      for (const answer of ended.values()) {
        if (untilOf(answer) > now) return;
        if (answer.readers === 0) remove(answer);
      }
    },
    nextDue() {
      for (const answer of ended.values()) if (answer.readers === 0) return untilOf(answer);
      return null;
    },
    bytes: () => taken,
  };
}

function untilOf({ state }: KeyedAnswer): number {
  return 'until' in state ? state.until : Number.POSITIVE_INFINITY;
}
