/**
 * The model API on a real socket, with instances that a test chooses and a gate that does what it says: every
 * request is granted the first instance; a failed attempt is told and answered by `verdict`.
 */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  type ForwardSettings,
  type ModelApi,
  modelApi,
  type RequestMeasurement,
} from '../../app/adapters/http/forward/index.ts';
import type { CatalogModel } from '../../app/adapters/http/forward/options.ts';
import type { KeyedOutcome } from '../../app/adapters/http/keyed/index.ts';
import { systemClock } from '../../app/clock.ts';
import type { NewRequest, Outcome, Refusal } from '../../app/core/request.ts';
import { learned, UNKNOWN_SPEED } from '../../app/core/speed.ts';
import type { Placement } from '../../app/core/types.ts';
import type { AttemptMeasurement, Clock, Waiter } from '../../app/ports.ts';

/** What the gate does next with a request. */
export type Verdict =
  | { readonly do: 'grant'; readonly instance: number; readonly fresh?: boolean; readonly reason?: string }
  | { readonly do: 'refuse'; readonly refusal: Refusal }
  | { readonly do: 'pass_on' }
  | { readonly do: 'wait' };

type FailedAttempt = Pick<AttemptMeasurement, 'model' | 'placement'>;

export interface Ticket {
  readonly request: NewRequest;
  readonly outcomes: Outcome[];
  abandoned: boolean;
  /** How often its first content was told to be late. */
  slow: number;
  /** Obeys a verdict now. */
  obey(verdict: Verdict): void;
  /** The tokens of its prompt as an instance counts them, while it waits. */
  count(instance: number): Promise<number | null>;
}

/** A connection that was kept and that its server had closed: the request goes out again on a new one. */
export function isStale(outcome: Outcome | undefined): boolean {
  if (outcome?.kind !== 'failed' || outcome.forwarded !== 'nothing') return false;
  return outcome.failure.kind === 'reset' && outcome.failure.reused;
}

export const ANEW: Verdict = { do: 'grant', instance: 0, fresh: true };

export interface BenchOptions {
  /** Ports of the instances, in order; the first two are on the gpu and the cpu. */
  readonly ports: readonly number[];
  /** Their hosts; 127.0.0.1 where not given. */
  readonly hosts?: readonly string[];
  readonly onArrival?: (ticket: Ticket) => Verdict;
  readonly onFailure?: (ticket: Ticket, outcome: Extract<Outcome, { kind: 'failed' }>) => Verdict;
  /** The client's own deadline was missed. */
  readonly onDeadline?: () => Verdict;
  readonly settings?: Partial<ForwardSettings>;
  readonly positionOf?: (request: number) => number | null;
  readonly clock?: Clock;
  readonly key?: string;
  readonly catalog?: readonly CatalogModel[];
}

export interface Bench {
  readonly url: string;
  readonly port: number;
  readonly api: ModelApi;
  readonly tickets: readonly Ticket[];
  readonly attempts: readonly AttemptMeasurement[];
  /** Tokens of each answer that the model ended by itself; null: of one that was cut, or failed. */
  readonly lengths: readonly (number | null)[];
  readonly failedAttempts: readonly FailedAttempt[];
  readonly requests: readonly RequestMeasurement[];
  /** What became of requests with an idempotency key. */
  readonly keyed: readonly KeyedOutcome[];
  /** Resolves when a request has ended at the edge; with the n-th end (from 0). */
  ended(n: number): Promise<RequestMeasurement>;
  /** Resolves when the gate was told an n-th outcome (from 0), over all requests. */
  outcome(n: number): Promise<Outcome>;
  ticket(n: number): Promise<Ticket>;
  /** Resolves when so many bytes of bodies came, over all requests. */
  bodyBytes(count: number): Promise<void>;
  /** Bytes that were written to clients and that their connections have not taken. */
  unsent(): number;
  /** Resolves when the edge has read an n-th request (from 0) whole. */
  received(n: number): Promise<unknown>;
  /** Resolves with the n-th response (from 0) that was closed: complete, or its client left. */
  closed(n: number): Promise<unknown>;
  close(): Promise<void>;
}

const SETTINGS: ForwardSettings = {
  bodyLimit: 1024 * 1024,
  // The machine may be busy; that none is made is for a test of its own.
  connectMs: 60_000,
  stallMs: 60_000,
  // Longer than clocks are moved on in one go: in between no answer can come.
  silenceMs: 24 * 3_600_000,
  firstToken: 'auto',
  keepaliveMs: 10_000,
  keysChecked: false,
  resume: true,
};

export const CHAT: CatalogModel = {
  name: 'chat',
  displayName: 'chat.gguf',
  aliases: ['gpt-4o-mini'],
  task: 'chat',
  context: 4096,
};

const PLACEMENTS: readonly Placement[] = ['gpu', 'cpu'];

export async function forwardBench(options: BenchOptions): Promise<Bench> {
  const tickets = arrivals<Ticket>();
  const outcomes = arrivals<Outcome>();
  const requests = arrivals<RequestMeasurement>();
  const received = arrivals<true>();
  const closed = arrivals<true>();
  const attempts: AttemptMeasurement[] = [];
  const lengths: (number | null)[] = [];
  const failedAttempts: FailedAttempt[] = [];
  const keyed: KeyedOutcome[] = [];
  const byId = new Map<number, Ticket>();
  let speed = UNKNOWN_SPEED;
  const settings = { ...SETTINGS, ...options.settings };

  const api = modelApi({
    gate: {
      request(request, waiter) {
        const made = ticket(request, waiter);
        byId.set(request.id, made);
        tickets.add(made);
        made.obey(options.onArrival?.(made) ?? { do: 'grant', instance: 0 });
      },
      attemptEnded(id, outcome, timings) {
        if (timings) speed = learned(speed, timings);
        lengths.push(timings?.answerTokens ?? null);
        const known = byId.get(id);
        known?.outcomes.push(outcome);
        outcomes.add(outcome);
        if (outcome.kind === 'deadline') known?.obey(options.onDeadline?.() ?? { do: 'wait' });
        if (outcome.kind !== 'failed' || known === undefined) return;
        const refusal: Refusal = { code: 'backend_failed', message: 'it failed', retryAfter: null };
        known.obey(options.onFailure?.(known, outcome) ?? { do: 'refuse', refusal });
      },
      abandoned(id) {
        const known = byId.get(id);
        if (known !== undefined) known.abandoned = true;
      },
      slow(id) {
        const known = byId.get(id);
        if (known !== undefined) known.slow += 1;
      },
      position: (id) => options.positionOf?.(id) ?? null,
    },
    targetOf(instance) {
      const port = options.ports[Number(instance)];
      return port === undefined
        ? undefined
        : {
            host: options.hosts?.[Number(instance)] ?? '127.0.0.1',
            port,
            key: options.key ?? 'instance-key',
            model: 'chat',
            profile: String(port),
          };
    },
    speedOf: () => speed,
    settings: () => settings,
    catalog: () => options.catalog ?? [CHAT],
    clock: options.clock ?? systemClock,
    metrics: {
      attempt: (one) => void attempts.push(one),
      attemptFailed: (one) => void failedAttempts.push(one),
      request: (one) => requests.add(one),
      keyed: (outcome) => void keyed.push(outcome),
    },
    log: { debug() {} },
  });
  const bodies = amount();
  const open = new Set<ServerResponse>();
  const server = createServer((req, res) => {
    open.add(res);
    res.once('close', () => open.delete(res));
    req.once('end', () => received.add(true));
    res.once('close', () => closed.add(true));
    api.handler(req, res, () => {
      res.statusCode = 404;
      res.end('not ours');
    });
    // After the edge, and only where it reads: a listener of ours must not read for it.
    if (req.listenerCount('data') > 0) req.on('data', ({ length }: Buffer) => bodies.add(length));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const port = (server.address() as AddressInfo).port;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    api,
    tickets: tickets.all,
    attempts,
    lengths,
    failedAttempts,
    requests: requests.all,
    keyed,
    ended: requests.nth,
    outcome: outcomes.nth,
    ticket: tickets.nth,
    bodyBytes: bodies.reached,
    unsent: () => [...open].reduce((sum, { writableLength }) => sum + writableLength, 0),
    received: received.nth,
    closed: closed.nth,
    async close() {
      api.close();
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

function ticket(request: NewRequest, waiter: Waiter): Ticket {
  let attempt = 0;
  return {
    request,
    outcomes: [],
    abandoned: false,
    slow: 0,
    obey(verdict) {
      if (verdict.do === 'refuse') waiter.refused(verdict.refusal);
      else if (verdict.do === 'pass_on') waiter.passOn();
      else if (verdict.do === 'grant') {
        // A new connection to the same instance counts as none, as in the core.
        if (verdict.fresh !== true) attempt += 1;
        waiter.granted({
          type: 'grant',
          request: request.id,
          instance: String(verdict.instance),
          placement: PLACEMENTS[verdict.instance] ?? 'cpu',
          attempt,
          queuedMs: 0,
          reason: verdict.reason ?? null,
          freshConnection: verdict.fresh ?? false,
        });
      }
    },
    count: (instance) => new Promise((resolve) => void waiter.countTokens(String(instance), resolve)),
  };
}

/** A sum that can be waited for. */
function amount() {
  let sum = 0;
  const waiting: { readonly count: number; readonly reached: () => void }[] = [];
  return {
    add(more: number) {
      sum += more;
      for (const { count, reached } of waiting) if (sum >= count) reached();
    },
    reached: (count: number) =>
      sum >= count ? Promise.resolve() : new Promise<void>((reached) => waiting.push({ count, reached })),
  };
}

/** A list whose n-th entry can be waited for. */
function arrivals<T>() {
  const all: T[] = [];
  const waiting = new Map<number, (value: T) => void>();
  return {
    all,
    add(value: T) {
      all.push(value);
      waiting.get(all.length - 1)?.(value);
    },
    nth(n: number): Promise<T> {
      const known = all[n];
      if (known !== undefined) return Promise.resolve(known);
      return new Promise((resolve) => waiting.set(n, resolve));
    },
  };
}
