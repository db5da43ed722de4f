import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AttemptMeasurement } from '../../../app/ports.ts';
import { ask, startEdge } from '../../support/edge.ts';
import { modelView } from '../../support/edge-fakes.ts';

const ATTEMPT: AttemptMeasurement = {
  model: 'chat',
  placement: 'gpu',
  firstTokenMs: 300,
  promptTokens: 200,
  promptMs: 250,
  tokens: 64,
  tokensMs: 2_000,
};

/** Samples by `name{labels}`, read as Prometheus' text format has them; wrong lines fail. */
async function scrape(port: number): Promise<Map<string, number>> {
  const answer = await ask(port, { path: '/metrics' });
  assert.match(String(answer.headers['content-type']), /^text\/plain; version=0\.0\.4/);
  const samples = new Map<string, number>();
  const typed = new Set<string>();
  for (const line of answer.text.split('\n').filter((text) => text !== '')) {
    const comment = /^# (HELP|TYPE) ([a-z_]+) (.+)$/.exec(line);
    if (comment !== null) {
      if (comment[1] === 'TYPE') typed.add(comment[2] ?? '');
      continue;
    }
    const sample = /^([a-z_]+)(\{(?:[a-z_]+="(?:[^"\\\n]|\\.)*",?)*\})? (\S+)$/.exec(line);
    assert.ok(sample !== null, `no sample: ${line}`);
    const name = sample[1] ?? '';
    assert.ok(typed.has(name.replace(/_(bucket|sum|count)$/, '')) || typed.has(name), name);
    samples.set(`${name}${sample[2] ?? ''}`, Number(sample[3]));
  }
  return samples;
}

test('requests, attempts, tokens and speeds are told by model and placement', async (t) => {
  const { port, metrics } = await startEdge(t);
  metrics.attempt(ATTEMPT);
  metrics.attempt({ ...ATTEMPT, placement: 'cpu', firstTokenMs: null, promptMs: 0, tokens: null });
  metrics.attemptFailed({ model: 'chat', placement: 'gpu' });
  const ended = { model: 'chat', placement: 'cpu', attempts: 2, queuedMs: 40 } as const;
  metrics.request({ ...ended, outcome: 'completed' });
  metrics.request({ ...ended, outcome: 'completed' });
  metrics.request({ ...ended, outcome: 'failed' });
  const samples = await scrape(port);
  const expected: Readonly<Record<string, number>> = {
    'llamastead_requests_total{model="chat",placement="cpu",outcome="completed"}': 2,
    'llamastead_requests_total{model="chat",placement="cpu",outcome="failed"}': 1,
    'llamastead_queue_seconds_count{model="chat",placement="cpu"}': 3,
    'llamastead_attempts_total{model="chat",placement="gpu",outcome="answered"}': 1,
    'llamastead_attempts_total{model="chat",placement="gpu",outcome="failed"}': 1,
    'llamastead_attempts_total{model="chat",placement="cpu",outcome="answered"}': 1,
    'llamastead_prompt_tokens_total{model="chat",placement="gpu"}': 200,
    'llamastead_generated_tokens_total{model="chat",placement="gpu"}': 64,
    'llamastead_first_token_seconds_bucket{le="0.25",model="chat",placement="gpu"}': 0,
    'llamastead_first_token_seconds_bucket{le="0.5",model="chat",placement="gpu"}': 1,
    'llamastead_prompt_tokens_per_second_sum{model="chat",placement="gpu"}': 800,
    'llamastead_generated_tokens_per_second_sum{model="chat",placement="gpu"}': 32,
  };
  for (const [name, value] of Object.entries(expected)) assert.equal(samples.get(name), value, name);
  assert.equal(
    samples.get('llamastead_prompt_tokens_per_second_count{model="chat",placement="cpu"}'),
    undefined,
  );
});

test('failovers and loads are counted from facts, merged ones as many', async (t) => {
  const { port, events } = await startEdge(t);
  events.append({ type: 'failover', model: 'chat', placement: 'gpu', to: 'cpu', reason: 'out_of_memory' });
  events.append({ type: 'backend_crashed', model: 'chat', count: 7 });
  events.append({ type: 'model_loaded', model: 'chat', placement: 'cpu', seconds: 12 });
  const samples = await scrape(port);
  const failover = 'llamastead_failovers_total{model="chat",placement="gpu",to="cpu",reason="out_of_memory"}';
  assert.equal(samples.get(failover), 1);
  assert.equal(samples.get('llamastead_events_total{type="backend_crashed"}'), 7);
  assert.equal(samples.get('llamastead_load_seconds_sum{model="chat",placement="cpu"}'), 12);
});

test('gauges show the state of the moment, and what is over is gone', async (t) => {
  const { port, gate } = await startEdge(t);
  const outage = {
    placement: 'gpu',
    reason: 'hang',
    detail: null,
    since: '2026-11-30T12:00:00Z',
    retryAt: '2026-11-30T12:01:00Z',
    probing: false,
  } as const;
  gate.show({
    queue: 3,
    leases: 2,
    models: [modelView({ placement: 'cpu', outage })],
    memory: { total: 8e9, available: 3e9, reserve: 2e9, budget: 6e9, models: 1e9, services: null },
    gpus: [
      { name: 'card', kind: 'amd', memory: 'dedicated', total: 8e9, used: 3e9, models: 2e9, headroom: 5e8 },
      {
        name: 'other',
        kind: 'intel',
        memory: 'dedicated',
        total: null,
        used: null,
        models: 0,
        headroom: 5e8,
      },
    ],
    problems: [{ code: 'docker_not_running', text: 'Docker does not answer.', fix: 'Start it.' }],
  });
  const samples = await scrape(port);
  assert.equal(samples.get('llamastead_queue_requests'), 3);
  assert.equal(samples.get('llamastead_leases'), 2);
  assert.equal(samples.get('llamastead_model_loaded{model="chat",placement="cpu"}'), 1);
  assert.equal(samples.get('llamastead_model_loaded{model="chat",placement="gpu"}'), 0);
  assert.equal(samples.get('llamastead_placement_out{model="chat",placement="gpu",reason="hang"}'), 1);
  assert.equal(samples.get('llamastead_memory_bytes{what="available"}'), 3e9);
  assert.equal(samples.get('llamastead_memory_bytes{what="services"}'), undefined);
  assert.equal(samples.get('llamastead_gpu_memory_bytes{gpu="card",what="used"}'), 3e9);
  assert.equal(samples.get('llamastead_gpu_memory_bytes{gpu="card",what="total"}'), 8e9);
  assert.equal(samples.get('llamastead_gpu_memory_bytes{gpu="other",what="used"}'), undefined);
  assert.equal(samples.get('llamastead_problems{code="docker_not_running"}'), 1);
  gate.show({ models: [modelView()], problems: [] });
  const later = await scrape(port);
  assert.equal(later.get('llamastead_placement_out{model="chat",placement="gpu",reason="hang"}'), undefined);
  assert.equal(later.get('llamastead_problems{code="docker_not_running"}'), undefined);
});

test('the process tells its CPU time, memory and start', async (t) => {
  const { port } = await startEdge(t);
  const samples = await scrape(port);
  const cpu = samples.get('process_cpu_seconds_total') ?? 0;
  assert.ok(cpu > 0);
  assert.ok((samples.get('process_resident_memory_bytes') ?? 0) > 10e6);
  assert.ok(Math.abs((samples.get('process_start_time_seconds') ?? 0) - Date.now() / 1_000) < 120);
  assert.ok(((await scrape(port)).get('process_cpu_seconds_total') ?? 0) >= cpu);
});

test('names that clients make up can not fill the memory', async (t) => {
  const { port, metrics } = await startEdge(t);
  for (let i = 0; i < 1_000; i++) {
    metrics.request({
      model: `made-up-${i}`,
      placement: 'none',
      outcome: 'failed',
      attempts: 0,
      queuedMs: 0,
    });
  }
  const samples = await scrape(port);
  const series = [...samples.keys()].filter((name) => name.startsWith('llamastead_requests_total'));
  assert.equal(series.length, 201);
  assert.equal(
    samples.get('llamastead_requests_total{model="other",placement="none",outcome="failed"}'),
    800,
  );
});

test('probes tell alive and ready, with the reasons why not', async (t) => {
  const health = { alive: true, ready: false, reasons: ['Docker does not answer.'] };
  const { port } = await startEdge(t, { health: () => health });
  const alive = await ask(port, { path: '/healthz' });
  assert.deepEqual([alive.status, alive.json()], [200, { alive: true }]);
  const ready = await ask(port, { path: '/readyz' });
  assert.deepEqual([ready.status, ready.json()], [503, { ready: false, reasons: health.reasons }]);
  health.alive = false;
  assert.equal((await ask(port, { path: '/healthz' })).status, 503);
});
