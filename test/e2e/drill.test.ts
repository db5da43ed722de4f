/** Drills on real parts: each scenario fails a real llama-server, and its report says what came of it. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { parseCommand, runCommand } from '../../app/cli.ts';
import type { DrillScenario } from '../../app/core/drill.ts';
import type { DrillReport } from '../../app/core/drill-report.ts';
import { answerReader } from '../../app/inspect/drill/answer.ts';
import { drillBody } from '../../app/inspect/drill/bodies.ts';
import { ensureBench } from '../home/bench.ts';
import { BUILDING } from '../support/building.ts';
import { benchOn, type NewerEngine, startNewerEngine } from '../support/newer-engine/newer-engine.ts';
import { CALLING_TEMPLATE } from '../support/tool-template.ts';
import { chat } from './support/chat.ts';
import { type Controller, startController } from './support/controller.ts';
import { running } from './support/wait.ts';

const CONFIG = {
  failover: { returnAfter: '1s' },
  // Room for one model alone.
  memory: { budget: '700MiB' },
  models: {
    tiny: { file: 'tiny.gguf', context: 2048, parallel: 2 },
    second: { file: 'tiny.gguf', context: 2048, placements: ['cpu'] },
    caller: { file: 'tiny.gguf', context: 2048, env: { LLAMA_ARG_CHAT_TEMPLATE: CALLING_TEMPLATE } },
  },
};
let engine: NewerEngine;
let home: Controller;
let stranger: string;

before(async () => {
  const bench = await ensureBench();
  engine = await startNewerEngine(bench);
  home = await startController('e2e-drill', CONFIG, benchOn(engine, bench));
  stranger = await home.docker('run', '-d', '--entrypoint', 'sleep', bench.images.cpu, '1000');
}, BUILDING);

after(async () => {
  await home.docker('rm', '-f', stranger);
  await home.close();
  await engine.stop();
});

const TOOL_REQUEST = JSON.parse(
  drillBody('tool_call', { model: '', stream: true, tokens: 300, context: 0 }),
) as Record<string, unknown>;

async function drill(scenario: DrillScenario, model = 'tiny'): Promise<DrillReport> {
  const response = await home.post('/admin/drill', { scenario, model });
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return JSON.parse(text) as DrillReport;
}

/** What every report of a failure has to say when all went well. */
async function moved(scenario: DrillScenario, reason: string): Promise<DrillReport> {
  const report = await drill(scenario);
  const shown = JSON.stringify(report, null, 1);
  assert.equal(report.verdict, 'passed', shown);
  assert.deepEqual(
    report.rounds.map(({ stream, reason: told, from, to }) => ({ stream, told, from, to })),
    [false, true].map((stream) => ({ stream, told: reason, from: 'gpu', to: 'cpu' })),
    shown,
  );
  for (const round of report.rounds) {
    assert.ok(round.idKept && round.connectionKept, shown);
    assert.ok((round.gpuBack ?? 0) > 0 && (round.firstFailure ?? -1) >= 0, shown);
  }
  assert.equal(report.rounds[0]?.complete, true, shown);
  assert.ok((report.memoryLow ?? 0) > 0, shown);
  assert.ok(report.others.compared > 0, shown);
  const listed = (await (await fetch(`${home.url}/admin/drills`)).json()) as { reports: DrillReport[] };
  assert.deepEqual(listed.reports[0], report);
  assert.equal((await chat(home)).placement, 'gpu', 'the GPU serves again');
  return report;
}

test('kill: the answer comes from the CPU, and the GPU comes back', async () => {
  const report = await moved('kill', 'killed_outside');
  assert.equal(report.rounds[0]?.outcome, 'moved');
  assert.equal(report.rounds[0]?.attempts, 2);
  const started = await home.event('drill_started');
  assert.deepEqual([started.model, started.scenario], ['tiny', 'kill']);
  const finished = await home.event('drill_finished');
  assert.deepEqual([finished.scenario, finished.verdict], ['kill', 'passed']);
});

test('concurrent: all requests end, each under its own id', async () => {
  const report = await moved('concurrent', 'killed_outside');
  assert.deepEqual(
    report.rounds.map(({ requests }) => requests),
    [4, 4],
  );
});

test('cancel: the backend stops, and nothing is tried again', async () => {
  const report = await drill('cancel');
  assert.equal(report.verdict, 'passed', JSON.stringify(report));
  assert.deepEqual(
    report.rounds.map(({ outcome }) => outcome),
    ['cancelled', 'cancelled'],
  );
});

test('hang: a frozen GPU is left at once', async () => {
  await moved('hang', 'paused');
});

test('oom-runtime: out of memory in mid-request, named so, and the estimate learns nothing from it', async () => {
  await moved('oom-runtime', 'memory_limit');
});

test('oom-load: too little memory at the start', async () => {
  const report = await moved('oom-load', 'memory_limit');
  assert.equal(report.rounds[0]?.attempts, 1);
});

test('gpu-gone: a device that is not there', async () => {
  await moved('gpu-gone', 'device_missing');
});

test("tools: a model that makes no calls is not applicable, and its request's end is explicit", async () => {
  const report = await drill('tools');
  assert.equal(report.verdict, 'not_applicable', JSON.stringify(report));
  assert.match(report.why, /no tool call/);
  assert.ok(report.rounds.every(({ outcome }) => outcome !== 'broken'));
});

test('tools: a call that was forwarded is not made again, one that was not comes whole from the CPU', async () => {
  const report = await drill('tools', 'caller');
  const shown = JSON.stringify(report, null, 1);
  assert.equal(report.verdict, 'passed', shown);
  assert.deepEqual(
    report.rounds.map(({ stream, outcome, toolCalls, attempts, to }) => [
      stream,
      outcome,
      toolCalls,
      attempts,
      to,
    ]),
    [
      [false, 'moved', 1, 2, 'cpu'],
      [true, 'error', 1, 1, 'cpu'],
    ],
    shown,
  );
});

test('a stream whose GPU dies before its tool call gets one call, from the CPU', async () => {
  await chat(home, { model: 'caller' });
  const victim = await home.container('caller', 'gpu');
  const id = 'before-the-call';
  // So that there is no call before.
  await home.docker('exec', victim, 'sh', '-c', 'kill -STOP $(pidof llama-server)');
  const asked = { ...TOOL_REQUEST, model: 'caller' };
  const response = home.post('/v1/chat/completions', asked, { 'x-request-id': id });
  await running(home, id);
  await home.docker('kill', victim);
  const stream = await response;
  const reader = answerReader(stream.status, true);
  reader.take(await stream.text());
  const { end, toolCalls } = reader.seen(true);
  assert.deepEqual([end, toolCalls], ['whole', 1]);
  assert.equal(stream.headers.get('llamastead-placement'), 'cpu');
  assert.equal(stream.headers.get('llamastead-attempts'), '2');
});

test("long-prompt and image: the backend's own error passes on, and nothing dies", async () => {
  await chat(home);
  const victim = await home.container('tiny', 'gpu');
  for (const scenario of ['long-prompt', 'image'] as const) {
    const report = await drill(scenario);
    assert.equal(report.verdict, 'passed', JSON.stringify(report));
  }
  assert.equal(await home.container('tiny', 'gpu'), victim);
});

test('second-model: without room it is refused, and the first answer is undisturbed', async () => {
  const report = await drill('second-model');
  assert.equal(report.verdict, 'passed', JSON.stringify(report));
  assert.deepEqual(
    report.rounds.map(({ outcome }) => outcome),
    ['undisturbed', 'undisturbed'],
  );
});

test('other requests wait until the failure was made, and are answered', async () => {
  const report = drill('kill');
  await home.event('drill_started', ({ scenario }) => scenario === 'kill');
  const answer = await chat(home, { id: 'somebody' });
  assert.equal(answer.status, 200);
  assert.equal((await report).verdict, 'passed');
  assert.ok(home.facts().every(({ requestIds }) => requestIds?.includes('somebody') !== true));
});

test('controller-restart: a stream ends explicitly, and the next request is answered', async () => {
  const kept = await drill('image');
  const texts: string[] = [];
  const argv = ['drill', 'controller-restart', '--yes', '--json', '--url', home.url, '--model', 'tiny'];
  const command = parseCommand([...argv, '--restart', 'restart']);
  assert.equal(command.run, 'drill');
  if (command.run !== 'drill') return;
  const code = await runCommand(command, {
    variable: () => undefined,
    readFile: () => '',
    fetch: globalThis.fetch,
    version: '0',
    confirm: null,
    async run() {
      await home.kill('SIGTERM');
      await home.start();
      return 0;
    },
    out: (text) => void texts.push(text),
    error: () => {},
  });
  assert.equal(code, 0, texts.join(''));
  const again = (await (await fetch(`${home.url}/admin/drills`)).json()) as { reports: DrillReport[] };
  const [made, before] = again.reports;
  assert.deepEqual(made, JSON.parse(texts.join('')), 'the command hands its report in');
  assert.deepEqual(before, kept, 'reports survive a restart');
  await home.event('drill_finished', ({ scenario }) => scenario === 'controller-restart');
});
