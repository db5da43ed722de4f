/**
 * Prometheus metrics, fed from facts, the view and the measurements of the HTTP edge.
 */
import { Counter, Histogram, Registry } from 'prom-client';
import type { Fact } from '../../core/facts.ts';
import type { AttemptMeasurement, EventLog, Gate } from '../../ports.ts';
import type { RequestMeasurement } from './forward/options.ts';
import type { KeyedOutcome } from './keyed/index.ts';
import { processMetrics } from './metrics/process.ts';
import { stateMetrics } from './metrics/state.ts';
import { newTallies, type Tallies, type Tally } from './metrics/tallies.ts';

export interface Metrics {
  /** Counts one attempt that was answered whole, with its speeds. */
  readonly attempt: (measurement: AttemptMeasurement) => void;
  /** Counts one attempt that failed. */
  readonly attemptFailed: (attempt: Pick<AttemptMeasurement, 'model' | 'placement'>) => void;
  /** Counts one ended request. */
  readonly request: (measurement: RequestMeasurement) => void;
  /** Counts one request with an idempotency key. */
  readonly keyed: (outcome: KeyedOutcome) => void;
  readonly contentType: string;
  /** The exposition text. */
  text(): Promise<string>;
  /** Ends its subscription. */
  close(): void;
}

/** More model names than a home has; what comes beyond is counted as `other`. */
const MOST_MODELS = 200;

const SHORT_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 180, 600];
const LOAD_SECONDS = [0.5, 1, 2, 4, 8, 15, 30, 60, 120, 300, 600];
const SPEEDS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024, 2_048, 4_096];

/** Makes a registry of its own: several in one process do not meet. */
export function createMetrics(sources: {
  readonly gate: Pick<Gate, 'view'>;
  readonly events: Pick<EventLog, 'subscribe'>;
}): Metrics {
  const registry = new Registry();
  const showState = stateMetrics(registry);
  const countFact = factMetrics(registry);
  const label = boundedLabel(MOST_MODELS);
  const { edge, tallies } = edgeMetrics(registry, label);
  processMetrics(registry);
  return {
    ...edge,
    contentType: registry.contentType,
    text() {
      tallies.count();
      showState(sources.gate.view());
      return registry.metrics();
    },
    close: sources.events.subscribe(countFact),
  };
}

/** Lets `most` different values through, so that names which clients make up can't fill the memory. */
function boundedLabel(most: number): (value: string) => string {
  const known = new Set<string>();
  return (value) => {
    if (known.has(value)) return value;
    if (known.size >= most) return 'other';
    known.add(value);
    return value;
  };
}

function edgeMetrics(
  registry: Registry,
  label: (model: string) => string,
): {
  readonly edge: Pick<Metrics, 'attempt' | 'attemptFailed' | 'request' | 'keyed'>;
  readonly tallies: Tallies;
} {
  const registers = [registry];
  const labelNames = ['model', 'placement'] as const;
  const counter = (name: string, help: string) =>
    new Counter({ name: `llamastead_${name}`, help, labelNames, registers });
  const histogram = (name: string, help: string, buckets: number[]) =>
    new Histogram({ name: `llamastead_${name}`, help, labelNames, buckets, registers });
  const requests = new Counter({
    name: 'llamastead_requests_total',
    help: 'Ended requests by model, last placement and outcome (completed, failed, deadline, client_gone).',
    labelNames: [...labelNames, 'outcome'] as const,
    registers,
  });
  const keyed = new Counter({
    name: 'llamastead_keyed_requests_total',
    help: 'Requests with an idempotency key by outcome (made, joined, kept, mismatch, gone, no_room).',
    labelNames: ['outcome'],
    registers,
  });
  const queued = histogram('queue_seconds', 'How long requests waited for an instance.', SHORT_SECONDS);
  const attempts = new Counter({
    name: 'llamastead_attempts_total',
    help: 'Forwardings of requests to instances by model, placement and outcome (answered, failed).',
    labelNames: [...labelNames, 'outcome'] as const,
    registers,
  });
  const promptTokens = counter('prompt_tokens_total', 'Tokens of prompts that instances read.');
  const tokens = counter('generated_tokens_total', 'Tokens that instances wrote.');
  const firstToken = histogram(
    'first_token_seconds',
    'From the forwarding to the first content.',
    SHORT_SECONDS,
  );
  const promptSpeed = histogram('prompt_tokens_per_second', 'Speed of reading a prompt.', SPEEDS);
  const speed = histogram('generated_tokens_per_second', 'Speed of writing an answer.', SPEEDS);
  const tallies = newTallies(label, { requests, attempts, promptTokens, tokens });
  const edge = {
    attempt(measurement: AttemptMeasurement) {
      const tally = tallies.of(measurement.model, measurement.placement);
      const { labels } = tally;
      const { firstTokenMs, promptTokens: read, promptMs, tokens: written, tokensMs } = measurement;
      tally.answered += 1;
      if (read !== null) tally.promptTokens = (tally.promptTokens ?? 0) + read;
      if (written !== null) tally.tokens = (tally.tokens ?? 0) + written;
      if (firstTokenMs !== null) firstToken.observe(labels, firstTokenMs / 1_000);
      observeSpeed(promptSpeed, labels, read, promptMs);
      observeSpeed(speed, labels, written, tokensMs);
    },
    attemptFailed: ({ model, placement }: Pick<AttemptMeasurement, 'model' | 'placement'>) =>
      attempts.inc({ model: label(model), placement, outcome: 'failed' }),
    request({ model, placement, outcome, queuedMs }: RequestMeasurement) {
      const tally = tallies.of(model, placement);
      if (outcome === 'completed') tally.completed += 1;
      else requests.inc({ ...tally.labels, outcome });
      queued.observe(tally.labels, queuedMs / 1_000);
    },
    keyed: (outcome: KeyedOutcome) => keyed.inc({ outcome }),
  };
  return { edge, tallies };
}

/** Tokens a second, where both figures are known and some time passed. */
function observeSpeed(
  histogram: Histogram<'model' | 'placement'>,
  labels: Tally['labels'],
  tokens: number | null,
  ms: number | null,
): void {
  if (tokens !== null && tokens > 0 && ms !== null && ms > 0)
    histogram.observe(labels, (tokens * 1_000) / ms);
}

function factMetrics(registry: Registry): (fact: Fact) => void {
  const registers = [registry];
  const events = new Counter({
    name: 'llamastead_events_total',
    help: 'Events by type.',
    labelNames: ['type'],
    registers,
  });
  const failovers = new Counter({
    name: 'llamastead_failovers_total',
    help: 'Deaths of instances whose requests another placement took over.',
    labelNames: ['model', 'placement', 'to', 'reason'],
    registers,
  });
  const loads = new Histogram({
    name: 'llamastead_load_seconds',
    help: 'How long loads took until the instance answered.',
    labelNames: ['model', 'placement'],
    buckets: LOAD_SECONDS,
    registers,
  });
  return (fact) => {
    events.inc({ type: fact.type }, fact.count ?? 1);
    const { model = '', placement = '', to = '', reason = '' } = fact;
    if (fact.type === 'failover') failovers.inc({ model, placement, to, reason }, fact.count ?? 1);
    if (fact.type === 'model_loaded' && fact.seconds !== undefined) {
      loads.observe({ model, placement }, fact.seconds);
    }
  };
}
