/** Client libraries that people use, unchanged and over the wire, through the death of what answers them. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { FactType } from '../../app/core/facts.ts';
import { TOOL_TEMPLATE } from '../support/tool-template.ts';
import { until } from '../support/until.ts';
import { type ApiClient, SHORT, type Size, type Watch } from './clients/client.ts';
import { curl } from './clients/curl.ts';
import { langchain } from './clients/langchain.ts';
import { openaiJs } from './clients/openai-js.ts';
import { openaiPython } from './clients/openai-python.ts';
import { vercelAi } from './clients/vercel-ai.ts';
import { type Controller, startController } from './support/controller.ts';

const MAKERS: Record<string, (url: string) => ApiClient | Promise<ApiClient>> = {
  'openai-js': openaiJs,
  'openai-python': openaiPython,
  'vercel-ai': vercelAi,
  langchain,
  curl,
};

/** Nobody waits for their end: far more than comes before the cut, on a busy machine and by a slow library too. */
const ENDLESS: Size = { steps: 1000, tokens: 8000 };
/** Long enough to be cut; its end is waited for. */
const LONG_TEXT = 700;
/** A text in its middle, and all kinds of answers that have not begun. */
const AT_ONCE = 7;
/** Docker does not see a signal sent inside: only the silence tells. */
const FREEZE = 'kill -STOP $(pidof llama-server)';
const cpuFirst = (name: string) => `${name}-cpu-first`;

let home: Controller;
let clients: ReadonlyMap<string, ApiClient> = new Map();

const clientOf = (name: string): ApiClient => clients.get(name) ?? assert.fail(`no client ${name}`);

before(async () => {
  const env = { LLAMA_ARG_CHAT_TEMPLATE: TOOL_TEMPLATE };
  const tiny = { file: 'tiny.gguf', context: 2048, env };
  const names = Object.keys(MAKERS);
  home = await startController('e2e-clients', {
    failover: { returnAfter: '300s' },
    models: {
      ...Object.fromEntries(names.map((name) => [name, { ...tiny, parallel: AT_ONCE }])),
      // The bench's GPU is slow at several streams at once.
      ...Object.fromEntries(
        names.map((name) => [
          cpuFirst(name),
          { ...tiny, context: 8192, parallel: 2, placements: ['cpu', 'gpu'] },
        ]),
      ),
    },
  });
  const made = Object.entries(MAKERS).map(async ([name, make]) => [name, await make(home.url)] as const);
  clients = new Map(await Promise.all(made));
});

after(async () => {
  // First: what still waits for an answer gets its error.
  await home.close();
  await Promise.all([...clients.values()].map((client) => client.close?.()));
});

interface Watched extends Watch {
  /** Resolves at the first piece. */
  readonly begun: Promise<void>;
  readonly reasons: readonly string[];
}

function watched(): Watched {
  const { promise, resolve } = Promise.withResolvers<void>();
  const reasons: string[] = [];
  return { begun: promise, reasons, piece: resolve, ended: (reason) => void reasons.push(reason) };
}

interface Begun extends Watched {
  readonly end: Promise<PromiseSettledResult<unknown>>;
}

/** Resolves when the answer is in its middle. */
async function begin(answer: (watch: Watch) => Promise<unknown>): Promise<Begun> {
  const watch = watched();
  const end = Promise.allSettled([answer(watch)]).then(([only]) => only);
  const early = end.then((how) => assert.fail(`it ended before it began: ${JSON.stringify(how)}`));
  early.catch(() => {});
  await Promise.race([watch.begun, early]);
  return { ...watch, end };
}

/** The container of the model's instance, which is loaded for it. */
async function load(model: string, placement: string): Promise<string> {
  const loaded = await home.post(`/admin/models/${model}/load?wait=1`);
  assert.equal(loaded.status, 200, await loaded.text());
  return home.container(model, placement);
}

/** What was told of moved and failed requests of the model. */
function endsOf(model: string): FactType[] {
  const types: readonly FactType[] = ['failover', 'failover_failed', 'request_failed'];
  return home
    .facts()
    .flatMap((fact) => (fact.model === model && types.includes(fact.type) ? [fact.type] : []));
}

function checkCall(call: unknown): void {
  const { room, lamps } = call as { room: string; lamps: readonly unknown[] };
  assert.match(room, /^(kitchen|hall)$/);
  assert.ok(lamps.every((lamp) => typeof lamp === 'boolean'));
  assert.equal(lamps.length, SHORT.steps);
}

function checkObject(object: unknown): void {
  const { mood, nights } = object as { mood: string; nights: readonly unknown[] };
  assert.match(mood, /^(calm|gay)$/);
  assert.equal(nights.length, SHORT.steps);
}

/** Every kind of answer, at once: each comes whole, and once. */
async function askAll(client: ApiClient, model: string): Promise<void> {
  const watches = { text: watched(), call: watched(), object: watched() };
  const [whole, text, call, calls, object, streamedObject] = await Promise.all([
    client.whole(model),
    client.stream(model, 16, watches.text),
    client.tool(model),
    client.streamedTool(model, SHORT, watches.call),
    client.structured(model),
    client.streamedStructured(model, SHORT, watches.object),
  ]);
  assert.notEqual(whole, '');
  assert.notEqual(text, '');
  assert.deepEqual(watches.text.reasons, ['length']);
  checkCall(call);
  assert.equal(calls.length, 1);
  checkCall(calls[0]);
  assert.match(watches.call.reasons.join(), /^tool[_-]calls$/);
  checkObject(object);
  checkObject(streamedObject);
  assert.deepEqual(watches.object.reasons, ['stop']);
}

// Each has models of its own.
describe('through a death', { timeout: 600_000, concurrency: 2 }, () => {
  for (const name of Object.keys(MAKERS)) {
    test(`${name}: text that has begun goes on, and all that has not begun comes whole`, async () => {
      const client = clientOf(name);
      const victim = await load(name, 'gpu');
      const text = await begin((watch) => client.stream(name, LONG_TEXT, watch));
      await home.docker('exec', victim, 'sh', '-c', FREEZE);
      const all = askAll(client, name);
      await until(async () => {
        const { requests } = await home.state();
        return (
          requests.filter(({ model, phase }) => model === name && phase === 'running').length === AT_ONCE
        );
      });
      await home.docker('kill', victim);
      await all;
      assert.equal((await text.end).status, 'fulfilled');
      assert.deepEqual(text.reasons, ['length']);
      const { to, count } = await home.event('failover', ({ model }) => model === name);
      assert.deepEqual({ to, count }, { to: 'cpu', count: AT_ONCE });
      assert.deepEqual(endsOf(name), ['failover']);
    });

    test(`${name}: a call or an object that has begun ends with an error that it raises`, async () => {
      const client = clientOf(name);
      const model = cpuFirst(name);
      const victim = await load(model, 'cpu');
      const begun = await Promise.all([
        begin((watch) => client.streamedTool(model, ENDLESS, watch)),
        begin((watch) => client.streamedStructured(model, ENDLESS, watch)),
      ]);
      await home.docker('kill', victim);
      for (const { end, reasons } of begun) {
        const how = await end;
        assert.equal(how.status, 'rejected', JSON.stringify(how));
        assert.match(String(how.reason), /closed the connection before the answer was whole/);
        assert.deepEqual(reasons, []);
      }
      // The GPU might have answered; nobody asked it to.
      for (const _ of begun) {
        const { code, attempts } = await home.event('request_failed', (fact) => fact.model === model);
        assert.deepEqual({ code, attempts }, { code: 'failed_after_output', attempts: 1 });
      }
      assert.deepEqual(endsOf(model), ['request_failed', 'request_failed']);
    });
  }
});
