/**
 * Texts that go on at another instance, on real llama-servers: nothing is missing or doubled at the seam, and what
 * follows is what the second server answers to the same request sent again, cold.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type CuttingProxy, cuttingProxy } from '../support/cutting-proxy.ts';
import { type Bench, forwardBench } from '../support/forward-bench.ts';
import { ask, post } from '../support/raw-client.ts';
import {
  busySlots,
  eventually,
  KEY,
  llamaServers,
  ready,
  type Server,
  type Servers,
} from './llama-servers.ts';

const CHAT = '/v1/chat/completions';
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
    onFailure: ({ outcomes }, { forwarded, failure }) =>
      forwarded === 'content' && outcomes.length === 1
        ? { do: 'grant', instance: 1, reason: 'reset' }
        : {
            do: 'refuse',
            refusal: { code: 'failed_after_output', message: JSON.stringify(failure), retryAfter: null },
          },
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
  max_tokens: 14,
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

/** What the second server answers to the text so far, asked by us and not through the program. */
async function coldContinuation(pair: Pair, body: Body, text: string): Promise<Told> {
  const { tokens } = JSON.parse(await direct(pair, '/tokenize', { content: text })) as { tokens: number[] };
  const messages = [...body.messages, { role: 'assistant', content: text }];
  const limit = Number(body['max_tokens']) - tokens.length;
  return told(await direct(pair, CHAT, { ...body, messages, max_tokens: limit }));
}

function checkSeam(
  seam: Awaited<ReturnType<typeof cutAnswer>>,
  whole: Told,
  events: number,
  cold: Told,
): string {
  const before = whole.pieces.slice(0, events).join('');
  assert.equal(seam.text, before + cold.text);
  assert.equal(seam.finish, cold.finish);
  const { raw } = seam;
  assert.equal(raw.split(': llamastead attempt=2 placement=cpu reason=reset\n\n').length, 2);
  assert.equal(raw.split('data: [DONE]\n\n').length, 2);
  assert.ok(raw.endsWith('data: [DONE]\n\n'));
  assert.equal(raw.split('"role":').length, 2);
  for (const key of ['id', 'model', 'system_fingerprint'] as const) {
    assert.equal(new Set(seam.chunks.map((chunk) => chunk[key])).size, 1, key);
  }
  assert.doesNotMatch(raw, /�|prompt_progress/);
  assert.equal(seam.usage?.prompt_tokens, whole.usage?.prompt_tokens);
  const { completion_tokens = 0, prompt_tokens = 0, total_tokens = 0 } = seam.usage ?? {};
  assert.equal(total_tokens, prompt_tokens + completion_tokens);
  return before;
}

const QUESTIONS = ['라마는 어디에 살아요? 😀', 'Tell me about "llamas" \\ and camels.'];

for (const [name, template] of Object.entries(TEMPLATES)) {
  test(`nothing is missing or doubled at the seam: template ${name}`, { timeout: 400_000 }, async () => {
    const made = await pair(name.replaceAll(' ', '-'), {
      LLAMA_ARG_JINJA: '1',
      LLAMA_ARG_CHAT_TEMPLATE: template,
    });
    for (const question of QUESTIONS) {
      const body = talk(question);
      const whole = await cutAnswer(made, body, null);
      assert.ok(whole.pieces.length > 2, whole.raw);
      for (const events of [1, Math.ceil(whole.pieces.length / 2), whole.pieces.length - 1]) {
        const seam = await cutAnswer(made, body, events, events % 2 === 0 ? 100 : 0);
        const before = whole.pieces.slice(0, events).join('');
        const cold = await coldContinuation(made, body, before);
        checkSeam(seam, whole, events, cold);
        const { tokens } = JSON.parse(await direct(made, '/tokenize', { content: before }));
        assert.equal(seam.usage?.completion_tokens, tokens.length + (cold.usage?.completion_tokens ?? 0));
      }
    }
    await made.close();
  });
}

describe('on a model that was trained', { timeout: 500_000 }, () => {
  let made: Pair;
  before(async () => {
    made = await pair('smollm2', {}, servers.chatFile);
  });
  after(() => made.close());

  test('Korean and emoji are cut between characters, never in one', async () => {
    const asked = 'Repeat exactly: 안녕하세요 여러분 😀🎉 라마가 최고예요';
    const body = talk(asked, {
      max_tokens: 30,
      messages: [
        { role: 'user', content: asked },
        { role: 'assistant', content: '안녕하세요 여러분 😀🎉 라마가 ' },
      ],
    });
    const whole = await cutAnswer(made, body, null);
    assert.ok(whole.pieces.length > 4, whole.raw);
    for (let events = 1; events < Math.min(7, whole.pieces.length); events += 1) {
      const seam = await cutAnswer(made, body, events);
      const before = whole.pieces.slice(0, events).join('');
      const { tokens } = JSON.parse(await direct(made, '/tokenize', { content: before }));
      const [user, prefill] = body.messages as { content: string }[];
      const messages = [user, { ...prefill, content: prefill?.content + before }];
      const cold = told(await direct(made, CHAT, { ...body, messages, max_tokens: 30 - tokens.length }));
      checkSeam(seam, whole, events, cold);
    }
  });

  test('max_tokens is counted over the seam, and at its end nobody is asked', async () => {
    const body = talk('Count from one to twenty in words.', { max_tokens: 6, ignore_eos: true });
    const whole = await cutAnswer(made, body, null);
    assert.equal(whole.finish, 'length');
    for (let events = 1; events <= whole.pieces.length; events += 1) {
      const seam = await cutAnswer(made, body, events);
      assert.equal(seam.usage?.completion_tokens, 6);
      assert.equal(seam.finish, 'length');
      assert.equal(seam.usage?.prompt_tokens, whole.usage?.prompt_tokens);
      if (events === whole.pieces.length) assert.equal(seam.text, whole.text);
    }
  });

  test('a stop string ends the text wherever the cut is', async () => {
    const body = talk('Count from one to ten, with digits and commas.', { max_tokens: 40 });
    const free = await cutAnswer(made, body, null);
    // From the middle of the text, over several of its tokens.
    const from = free.pieces.slice(0, 8).join('').length - 1;
    const stop = free.text.slice(from, from + 9);
    assert.equal(stop.length, 9);
    const stopping = { ...body, stop: [stop, 'never comes'] };
    const whole = await cutAnswer(made, stopping, null);
    assert.equal(whole.finish, 'stop');
    assert.equal(whole.text, free.text.slice(0, free.text.indexOf(stop)));
    for (let events = 1; events <= whole.pieces.length; events += 1) {
      const seam = await cutAnswer(made, stopping, events);
      assert.equal(seam.finish, 'stop', seam.raw);
      assert.equal(seam.text.includes(stop), false);
      const before = whole.pieces.slice(0, events).join('');
      const cold = await coldContinuation(made, stopping, before);
      assert.equal(seam.text, before + cold.text);
    }
  });

  test('a text with special tokens of the model is not continued', async () => {
    const said = 'The sign says <|im_start|>llama';
    // Only this bias makes the model say it; the text itself is what counts.
    const { tokens } = JSON.parse(
      await direct(made, '/tokenize', { content: said, parse_special: false }),
    ) as { tokens: number[] };
    const body = {
      ...talk('hi'),
      max_tokens: tokens.length + 4,
      messages: [
        { role: 'user', content: `Say: ${said}` },
        { role: 'assistant', content: 'The sign says <|im_start|>llama. The sign says' },
      ],
    };
    const whole = await cutAnswer(made, body, null);
    const events =
      whole.pieces.findIndex((_, n) =>
        whole.pieces
          .slice(0, n + 1)
          .join('')
          .includes('<|im_start|>'),
      ) + 1;
    assert.ok(events > 0, whole.raw);
    const seam = await cutAnswer(made, body, events);
    assert.match(seam.raw, /failed_after_output[^\n]*special tokens[^\n]*\n\n$/);
  });
});

test('a killed container is continued; a client that leaves then frees the slot', {
  timeout: 300_000,
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
  while (told(reply.text()).text.length <= seen.length + 10) await new Promise(setImmediate);
  assert.equal(await busySlots(cpu), 1);
  sent.leave();
  await eventually(async () => (await busySlots(cpu)) === 0);
  assert.deepEqual((await bench.ended(0)).outcome, 'client_gone');
  await bench.close();
});

describe('a template that does not continue a text', { timeout: 400_000 }, () => {
  const unfit: readonly [string, Record<string, string>][] = [
    ['llama3, built in', { LLAMA_ARG_JINJA: '0', LLAMA_ARG_CHAT_TEMPLATE: 'llama3' }],
    ['gemma, built in', { LLAMA_ARG_JINJA: '0', LLAMA_ARG_CHAT_TEMPLATE: 'gemma' }],
    ['mistral-v7, built in', { LLAMA_ARG_JINJA: '0', LLAMA_ARG_CHAT_TEMPLATE: 'mistral-v7' }],
    ['no prefill', { LLAMA_ARG_JINJA: '1', LLAMA_ARG_PREFILL_ASSISTANT: '0' }],
    [
      'thoughts left open',
      { LLAMA_ARG_JINJA: '1', LLAMA_ARG_CHAT_TEMPLATE: OPEN_THOUGHTS, LLAMA_ARG_THINK: 'none' },
    ],
  ];
  for (const [name, env] of unfit) {
    test(`ends with an error event: ${name}`, async () => {
      const made = await pair(name.replaceAll(/[ ,]+/g, '-'), env);
      const seam = await cutAnswer(made, talk('hello', { ignore_eos: true }), 2);
      assert.equal(seam.pieces.length, 2);
      assert.match(seam.raw, /failed_after_output[^\n]*template[^\n]*\n\n$/);
      await made.close();
    });
  }
});
