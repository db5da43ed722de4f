/**
 * Texts that go on at another instance, on real llama-servers: nothing is missing or doubled at the seam, and what
 * follows is what the second server answers to the same request sent again, cold.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type CuttingProxy, cuttingProxy } from '../support/cutting-proxy.ts';
import { chat, fakeLlama, stream } from '../support/fake-llama.ts';
import { ANEW, type Bench, type BenchOptions, forwardBench, isStale } from '../support/forward-bench.ts';
import { ask, post } from '../support/raw-client.ts';
import { until } from '../support/until.ts';
import {
  busySlots,
  freeSlots,
  KEY,
  llamaServers,
  ready,
  type Server,
  type Servers,
} from './llama-servers.ts';

const CHAT = '/v1/chat/completions';
/** Each test has servers of its own, and each of these works on one core. */
const AT_ONCE = 2;
const COLD = { cache_prompt: false, temperature: 0, seed: 7, stream: true };

/** As the models' own templates do it, without what no test needs. */
const TEMPLATES = {
  chatml: 'chatml',
  llama3:
    "{% for m in messages %}{{ '<|start_header_id|>' + m.role + '<|end_header_id|>\\n\\n' + m.content | trim + '<|eot_id|>' }}{% endfor %}{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}",
  gemma:
    "{% for m in messages %}{{ '<start_of_turn>' + ('model' if m.role == 'assistant' else m.role) + '\\n' + m.content | trim + '<end_of_turn>\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<start_of_turn>model\\n' }}{% endif %}",
  mistral:
    "{% for m in messages %}{% if m.role == 'assistant' %}{{ ' ' + m.content + '</s>' }}{% else %}{{ '[INST] ' + m.content + ' [/INST]' }}{% endif %}{% endfor %}",
  'closed thoughts':
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n<think>\\n\\n</think>\\n\\n' }}{% endif %}",
} as const;

const OPEN_THOUGHTS =
  "{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n<think>\\n' }}{% endif %}";

interface Pair {
  readonly cpu: Server;
  /** Before the first instance. */
  readonly proxy: CuttingProxy;
  readonly bench: Bench;
  close(): Promise<void>;
}

let servers: Servers;

before(async () => {
  servers = await llamaServers('resume-contract');
});

after(() => servers.removeAll());

/** What the core does with a text that was cut once, as long as it can be continued. */
const continued: NonNullable<BenchOptions['onFailure']> = ({ outcomes }, outcome) => {
  if (isStale(outcome)) return ANEW;
  const { forwarded, failure } = outcome;
  const first = outcomes.filter((one) => !isStale(one)).length === 1;
  if (forwarded === 'content' && first) return { do: 'grant', instance: 1, reason: 'reset' };
  return {
    do: 'refuse',
    refusal: { code: 'failed_after_output', message: JSON.stringify(failure), retryAfter: null },
  };
};

/** A first instance that can be cut and a second one; text is continued, anything else fails. */
async function pair(name: string, env: Record<string, string>, file?: string): Promise<Pair> {
  const options = { env: { LLAMA_ARG_N_PARALLEL: '1', ...env }, ...(file === undefined ? {} : { file }) };
  const gpu = await servers.start(`${name}-gpu`, options);
  const cpu = await servers.start(`${name}-cpu`, options);
  await Promise.all([ready(gpu), ready(cpu)]);
  const proxy = await cuttingProxy(gpu.host, 8080);
  const bench = await forwardBench({
    ports: [proxy.port, 8080],
    hosts: ['127.0.0.1', cpu.host],
    key: KEY,
    onFailure: continued,
  });
  return {
    cpu,
    proxy,
    bench,
    async close() {
      await bench.close();
      await proxy.close();
      await Promise.all([servers.remove(gpu), servers.remove(cpu)]);
    },
  };
}

interface Chunk {
  readonly id?: string;
  readonly created?: number;
  readonly model?: string;
  readonly system_fingerprint?: string;
  readonly choices?: readonly {
    readonly finish_reason: string | null;
    readonly delta: {
      readonly role?: string;
      readonly content?: string | null;
      readonly reasoning_content?: string;
    };
  }[];
  readonly usage?: {
    readonly prompt_tokens: number;
    readonly completion_tokens: number;
    readonly total_tokens: number;
  };
}

interface Told {
  readonly chunks: readonly Chunk[];
  readonly text: string;
  readonly pieces: readonly string[];
  readonly finish: string | null;
  readonly usage: Chunk['usage'];
}

function told(stream: string): Told {
  const chunks = [...stream.matchAll(/^data: (\{.*)$/gm)].map(([, data]) => JSON.parse(data ?? '') as Chunk);
  const pieces = chunks
    .map(({ choices }) => choices?.[0]?.delta.content ?? '')
    .filter((piece) => piece !== '');
  const finish = chunks.map(({ choices }) => choices?.[0]?.finish_reason ?? null).find((one) => one !== null);
  return {
    chunks,
    pieces,
    text: pieces.join(''),
    finish: finish ?? null,
    usage: chunks.findLast(({ usage }) => usage)?.usage,
  };
}

type Body = Readonly<Record<string, unknown>> & { readonly messages: readonly object[] };

const talk = (content: string, more: object = {}): Body => ({
  ...COLD,
  model: 'chat',
  max_tokens: 10,
  stream_options: { include_usage: true },
  messages: [{ role: 'user', content }],
  ...more,
});

const direct = async ({ cpu }: Pair, path: string, body: unknown) =>
  (await ask(`http://${cpu.host}:8080${path}`, body, { Authorization: `Bearer ${KEY}` })).text();

/** The answer through us, cut after so many text events. */
async function cutAnswer({ proxy, bench }: Pair, body: Body, events: number | null, bytes = 0) {
  proxy.cutAfter(events, bytes);
  const reply = await ask(bench.url + CHAT, body);
  assert.equal(reply.how, 'whole');
  return { ...told(reply.text()), raw: reply.text() };
}

interface Cold extends Told {
  /** Of the text before the seam. */
  readonly tokens: number;
}

/** What the second server answers to the text so far, asked by us and not through the program. */
async function coldContinuation(made: Pair, body: Body, text: string): Promise<Cold> {
  const { tokens } = JSON.parse(await direct(made, '/tokenize', { content: text })) as { tokens: number[] };
  const last = body.messages.at(-1) as { readonly role: string; readonly content: string };
  const prefilled = last.role === 'assistant';
  const messages = [
    ...(prefilled ? body.messages.slice(0, -1) : body.messages),
    { role: 'assistant', content: prefilled ? last.content + text : text },
  ];
  const limit = Number(body['max_tokens']) - tokens.length;
  const answer = told(await direct(made, CHAT, { ...body, messages, max_tokens: limit }));
  return { ...answer, tokens: tokens.length };
}

function checkSeam(
  seam: Awaited<ReturnType<typeof cutAnswer>>,
  whole: Told,
  events: number,
  cold: Cold,
): void {
  assert.equal(seam.text, whole.pieces.slice(0, events).join('') + cold.text);
  assert.equal(seam.finish, cold.finish);
  const { raw } = seam;
  assert.equal(raw.split(': llamastead attempt=2 placement=cpu reason=reset\n\n').length, 2);
  assert.equal(raw.split('data: [DONE]\n\n').length, 2);
  assert.ok(raw.endsWith('data: [DONE]\n\n'));
  assert.equal(raw.split('"role":').length, 2);
  for (const key of ['id', 'model', 'system_fingerprint'] as const) {
    assert.equal(new Set(seam.chunks.map((chunk) => chunk[key])).size, 1, key);
  }
  assert.doesNotMatch(raw, /\uFFFD|prompt_progress/);
  const { completion_tokens = 0, prompt_tokens = 0, total_tokens = 0 } = seam.usage ?? {};
  assert.equal(completion_tokens, cold.tokens + (cold.usage?.completion_tokens ?? 0));
  assert.equal(prompt_tokens, (cold.usage?.prompt_tokens ?? 0) - cold.tokens);
  assert.equal(total_tokens, prompt_tokens + completion_tokens);
}

const QUESTIONS = ['라마는 어디에 살아요? 😀', 'Tell me about "llamas" \\ and camels.'];

describe('nothing is missing or doubled at the seam', { timeout: 600_000, concurrency: AT_ONCE }, () => {
  for (const [name, template] of Object.entries(TEMPLATES)) {
    test(`template ${name}`, async (t) => {
      const made = await pair(name.replaceAll(' ', '-'), {
        LLAMA_ARG_JINJA: '1',
        LLAMA_ARG_CHAT_TEMPLATE: template,
      });
      t.after(made.close);
      for (const question of QUESTIONS) {
        const body = talk(question);
        const whole = await cutAnswer(made, body, null);
        assert.ok(whole.pieces.length > 2, whole.raw);
        for (const events of [1, Math.ceil(whole.pieces.length / 2), whole.pieces.length - 1]) {
          const seam = await cutAnswer(made, body, events, events % 2 === 0 ? 100 : 0);
          const before = whole.pieces.slice(0, events).join('');
          const cold = await coldContinuation(made, body, before);
          checkSeam(seam, whole, events, cold);
          assert.equal(seam.usage?.prompt_tokens, whole.usage?.prompt_tokens);
        }
      }
    });
  }
});

describe('over the seam', { timeout: 600_000 }, () => {
  let made: Pair;
  before(async () => {
    made = await pair('limits', { LLAMA_ARG_CHAT_TEMPLATE: 'chatml' });
  });
  after(() => made.close());

  test('max_tokens is counted, and at its end nobody is asked', async () => {
    const body = talk('Count from one to twenty.', { max_tokens: 4, ignore_eos: true });
    const whole = await cutAnswer(made, body, null);
    assert.equal(whole.finish, 'length');
    for (let events = 1; events <= whole.pieces.length; events += 1) {
      const seam = await cutAnswer(made, body, events);
      assert.equal(seam.usage?.completion_tokens, 4);
      assert.equal(seam.finish, 'length');
      assert.equal(seam.usage?.prompt_tokens, whole.usage?.prompt_tokens);
      if (events === whole.pieces.length) assert.equal(seam.text, whole.text);
    }
  });

  test('a stop string ends the text wherever the cut is', async () => {
    const body = talk('Tell me more.', { max_tokens: 14, ignore_eos: true });
    const free = await cutAnswer(made, body, null);
    // From the middle of a token into the one after the next.
    const from = free.pieces.slice(0, 5).join('').length - 1;
    const to = free.pieces.slice(0, 7).join('').length + 1;
    const stop = free.text.slice(from, to);
    const stopping = { ...body, stop: [stop, 'never comes'] };
    const whole = await cutAnswer(made, stopping, null);
    assert.equal(whole.finish, 'stop');
    assert.equal(whole.text, free.text.slice(0, free.text.indexOf(stop)));
    for (let events = 1; events <= whole.pieces.length; events += 1) {
      const seam = await cutAnswer(made, stopping, events);
      assert.equal(seam.text.includes(stop), false, seam.raw);
      const before = whole.pieces.slice(0, events).join('');
      const cold = await coldContinuation(made, stopping, before);
      assert.deepEqual([seam.text, seam.finish], [before + cold.text, cold.finish]);
    }
  });
});

test('Korean and emoji are cut between characters, never in one', { timeout: 600_000 }, async (t) => {
  const made = await pair('smollm2', {}, servers.chatFile);
  t.after(made.close);
  const user = { role: 'user', content: 'Repeat: 라마 😀🎉 라마 😀🎉 라마 😀🎉' };
  const prefill = { role: 'assistant', content: '라마 😀🎉 라마 ' };
  const body = talk('', { max_tokens: 9, messages: [user, prefill] });
  const whole = await cutAnswer(made, body, null);
  assert.match(whole.text, /[가-힣]|\p{Extended_Pictographic}/u);
  for (let events = 1; events < Math.min(3, whole.pieces.length); events += 1) {
    const seam = await cutAnswer(made, body, events);
    const before = whole.pieces.slice(0, events).join('');
    checkSeam(seam, whole, events, await coldContinuation(made, body, before));
  }
});

test('a killed container is continued; a client that leaves then frees the slot', {
  timeout: 600_000,
}, async () => {
  const victim = await servers.start('victim', { env: { LLAMA_ARG_N_PARALLEL: '1' } });
  const cpu = await servers.start('heir', { env: { LLAMA_ARG_N_PARALLEL: '1' } });
  await Promise.all([ready(victim), ready(cpu)]);
  const bench = await forwardBench({
    ports: [8080, 8080],
    hosts: [victim.host, cpu.host],
    key: KEY,
    onFailure: () => ({ do: 'grant', instance: 1, reason: 'reset' }),
  });
  const body = talk('hello', { max_tokens: 3000, ignore_eos: true });
  const sent = post(bench.url + CHAT, body);
  const reply = await sent.reply;
  await reply.until('"content":"');
  await servers.docker.run(['kill', victim.name]);
  await reply.until(': llamastead attempt=2');
  const seen = told(reply.text()).text;
  await until(() => told(reply.text()).text.length > seen.length + 10);
  assert.equal(await busySlots(cpu), 1);
  sent.leave();
  await freeSlots(servers, cpu);
  assert.deepEqual((await bench.ended(0)).outcome, 'client_gone');
  await bench.close();
});

/** The first instance says a given text and dies; the second one is real. */
async function afterText(text: string, env: Record<string, string>): Promise<string> {
  const first = await fakeLlama(stream([chat.role, chat.text(text)], 'reset'));
  const cpu = await servers.start('unfit', { env });
  await ready(cpu);
  const bench = await forwardBench({
    ports: [first.port, 8080],
    hosts: ['127.0.0.1', cpu.host],
    key: KEY,
    onFailure: continued,
  });
  const reply = await ask(bench.url + CHAT, talk('hello', { max_tokens: 40 }));
  await bench.close();
  await first.close();
  await servers.remove(cpu);
  return reply.text();
}

describe('a text ends with an error event', { timeout: 600_000, concurrency: AT_ONCE }, () => {
  const unfit: readonly [string, string, Record<string, string>, RegExp][] = [
    ['that holds special tokens', 'It says <|im_end|>', {}, /special tokens/],
    ...['llama3', 'gemma', 'mistral-v7'].map((name): [string, string, Record<string, string>, RegExp] => [
      `whose template is built in: ${name}`,
      'It says',
      { LLAMA_ARG_JINJA: '0', LLAMA_ARG_CHAT_TEMPLATE: name },
      /template/,
    ]),
    ['whose server takes no prefill', 'It says', { LLAMA_ARG_PREFILL_ASSISTANT: '0' }, /template/],
    ['whose thoughts are left open', 'It says', { LLAMA_ARG_CHAT_TEMPLATE: OPEN_THOUGHTS }, /template/],
  ];
  for (const [name, text, env, why] of unfit) {
    test(name, async () => {
      const raw = await afterText(text, env);
      assert.equal(told(raw).text, text);
      assert.match(raw, /failed_after_output[^\n]*\n\n$/);
      assert.match(raw, why);
    });
  }

  test('but not one that is fit', async () => {
    const raw = await afterText('It says <|im', {});
    assert.ok(told(raw).text.length > 'It says <|im'.length, raw);
    assert.ok(raw.endsWith('data: [DONE]\n\n'));
  });
});
