/**
 * Numbered facts: durable before they are told. Facts are queued by `append`, and one writer takes all that
 * waits, writes and syncs it once, then tells it in order. No caller waits for the disk.
 */
import type { Fact, FactBody } from './core/facts.ts';
import { AppError } from './errors.ts';
import { type Keeper, openKeeper } from './event-log/keeper.ts';
import { makeLimiter } from './event-log/limiter.ts';
import { makeRing, type Ring, slice } from './event-log/ring.ts';
import type { EventLogLimits, EventLogOptions, WritableEventLog } from './event-log/types.ts';

export type { EventLogLimits, EventLogOptions, WritableEventLog } from './event-log/types.ts';

const LIMITS: EventLogLimits = {
  bytes: 16 * 2 ** 20,
  days: 30,
  segmentBytes: 2 ** 20,
  ring: 2000,
  perSecond: 20,
};

/** Opens the log. A folder that cannot be used is a problem, not an error: facts are told all the same. */
export async function openEventLog(options: EventLogOptions): Promise<WritableEventLog> {
  const limits = { ...LIMITS, ...options.limits };
  const writer: { again: () => void } = { again: () => {} };
  const { keeper, newest } = await openKeeper(options, limits, () => writer.again());
  const known = Math.max(newest.at(-1)?.seq ?? 0, options.floor ?? 0);
  const start = keeper.refusing() ? Math.max(known, options.clock.now().wall) : known;
  const ring = makeRing(limits.ring, newest, (newest[0]?.seq ?? start + 1) - 1);
  const teller = makeTeller(ring, start, options.notice);
  const queue = makeWriter(keeper, teller, options);
  writer.again = queue.kick;
  return logOver({ keeper, ring, teller, queue, options, perSecond: limits.perSecond });
}

interface Teller {
  /** The newest number that was told. */
  told(): number;
  tell(fact: Fact): void;
  /** The next number will be over this one. */
  jump(to: number): void;
  subscribe(listener: (fact: Fact) => void): () => void;
}

function makeTeller(ring: Ring, start: number, notice: (text: string) => void): Teller {
  let told = start;
  const listeners = new Set<(fact: Fact) => void>();
  return {
    told: () => told,
    jump: (to) => {
      told = Math.max(told, to);
    },
    tell: (fact) => {
      ring.push(fact);
      told = fact.seq;
      for (const listener of listeners) {
        try {
          listener(fact);
        } catch (thrown) {
          notice(`a subscriber failed on event ${fact.seq}: ${AppError.from(thrown).message}`);
        }
      }
    },
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

interface Writer {
  add(bodies: readonly FactBody[], wall: number): void;
  kick(): void;
  /** Facts that were added but not told yet. */
  waiting(): number;
  idle(): Promise<void>;
}

function makeWriter(keeper: Keeper, teller: Teller, options: EventLogOptions): Writer {
  let queue: { readonly body: FactBody; readonly wall: number }[] = [];
  let waiting = 0;
  let running: Promise<void> | null = null;

  const numbered = (batch: typeof queue): Fact[] =>
    batch.map(({ body, wall }, index) => ({
      v: 1,
      seq: teller.told() + index + 1,
      time: new Date(wall).toISOString(),
      ...body,
    }));
  /**
   * Numbers that are not on the disk could be given again after a restart. So, when the disk begins to
   * refuse, they jump to the time in milliseconds: over every number before, and under the next jump's.
   */
  const writeAndTell = async (batch: typeof queue): Promise<void> => {
    let facts = numbered(batch);
    const result = await keeper.keep(facts);
    if (result === 'began') {
      teller.jump(options.clock.now().wall);
      facts = numbered(batch);
    }
    if (result !== 'kept') keeper.owe(facts);
    for (const fact of facts) {
      waiting--;
      teller.tell(fact);
    }
  };
  const run = async (): Promise<void> => {
    // Facts that are appended in this turn go in one write.
    await Promise.resolve();
    try {
      do {
        const batch = queue;
        queue = [];
        await writeAndTell(batch);
      } while (queue.length > 0);
    } finally {
      running = null;
    }
  };
  const kick = (): void => {
    running ??= run();
  };
  return {
    kick,
    add: (bodies, wall) => {
      if (bodies.length === 0) return;
      queue.push(...bodies.map((body) => ({ body, wall })));
      waiting += bodies.length;
      kick();
    },
    waiting: () => waiting,
    idle: async () => {
      await running;
    },
  };
}

interface Parts {
  readonly keeper: Keeper;
  readonly ring: Ring;
  readonly teller: Teller;
  readonly queue: Writer;
  readonly options: EventLogOptions;
  readonly perSecond: number;
}

function logOver({ keeper, ring, teller, queue, options, perSecond }: Parts): WritableEventLog {
  const { clock } = options;
  const limiter = makeLimiter(clock, perSecond, (held) => queue.add(held, clock.now().wall));
  /** The highest number that anyone was given. */
  const promised = () => teller.told() + queue.waiting();
  return {
    get seq() {
      return teller.told();
    },
    append: (facts, wall) => {
      queue.add(limiter.take(facts), wall);
      return promised();
    },
    since: (seq, limit) => ring.since(seq, limit, promised()),
    read: async (seq, limit) => {
      if (ring.reaches(seq) || seq > promised()) return ring.since(seq, limit, promised());
      const events = await keeper.read(seq, limit);
      const missing = (keeper.oldest() ?? teller.told() + 1) - 1;
      return slice(events, { seq, limit, known: promised(), missing });
    },
    subscribe: teller.subscribe,
    close: async () => {
      queue.add(limiter.flush(), clock.now().wall);
      await queue.idle();
      await keeper.close();
    },
  };
}
