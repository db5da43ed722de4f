/** A text whose instance died goes on at another one, on scripted instances. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { manualClock } from '../../../support/clock.ts';
import {
  type Behaviour,
  type Continuing,
  chat,
  continuing,
  type FakeLlama,
  failing,
  fakeLlama,
  silent,
  stream,
  whole,
} from '../../../support/fake-llama.ts';
import { type Bench, type BenchOptions, forwardBench, type Verdict } from '../../../support/forward-bench.ts';
import { ask, post } from '../../../support/raw-client.ts';

const PATH = '/v1/chat/completions';
const BODY = { model: 'chat', stream: true, messages: [{ role: 'user', content: 'hi' }] };
const FAILED: Verdict = {
  do: 'refuse',
  refusal: { code: 'failed_after_output', message: 'it died', retryAfter: null },
};
const SEAM = ': llamastead attempt=2 placement=cpu reason=reset\n\n';

const closers: (() => Promise<void>)[] = [];
after(async () => {
  for (const close of closers) await close();
});

interface Scene {
  readonly bench: Bench;
  readonly gpu: FakeLlama;
  readonly cpu: FakeLlama;
}

/** The gpu meets `first`, the cpu what follows; text is continued, anything else fails. */
async function scene(
  first: Behaviour,
  second: Behaviour,
  options: Partial<BenchOptions> = {},
): Promise<Scene> {
  const gpu = await fakeLlama(first);
  const cpu = await fakeLlama(second);
  const bench = await forwardBench({
    ports: [gpu.port, cpu.port],
    onFailure: ({ outcomes }, { forwarded }) =>
      forwarded === 'content' && outcomes.length === 1
        ? { do: 'grant', instance: 1, reason: 'reset' }
        : FAILED,
    ...options,
  });
  closers.push(
    () => bench.close(),
    () => gpu.close(),
    () => cpu.close(),
  );
  return { bench, gpu, cpu };
}

/** Another answer of another process: nothing of it but its text may reach the client. */
const OTHER =
  '"created":1800000000,"id":"chatcmpl-y","model":"chat","system_fingerprint":"b2-other","object":"chat.completion.chunk"';
const other = (event: string) => event.replace(/"created":.*?"chat.completion.chunk"/, OTHER);
const more = (...texts: readonly string[]) =>
  [chat.role, ...texts.map(chat.text), chat.finish, chat.done].map(other);
const cut = (...texts: readonly string[]) => stream([chat.role, ...texts.map(chat.text)], 'reset');
const goesOn = (texts: readonly string[], template: Continuing = {}) =>
  continuing(stream(more(...texts)), template);

function events(text: string): Record<string, unknown>[] {
  return [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data]) => JSON.parse(data ?? ''));
}

function textOf(text: string): string {
  return events(text)
    .map(
      (event) =>
        (event['choices'] as { delta?: { content?: string } }[] | undefined)?.[0]?.delta?.content ?? '',
    )
    .join('');
}

const lastBody = (llama: FakeLlama) => JSON.parse(llama.arrivals.at(-1)?.body ?? '{}');
const asked = ({ cpu }: Scene) => cpu.arrivals.map(({ path }) => path);

describe('a stream that was cut', () => {
  test('goes on: same id and time, one role, one end, the seam told by a comment', async () => {
    const { bench } = await scene(cut('Gut', 'en', ' Tag'), goesOn([', 안녕', ' 😀']));
    const reply = await ask(bench.url + PATH, BODY);
    const expected = [
      ...[chat.role, chat.text('Gut'), chat.text('en'), chat.text(' Tag'), SEAM],
      ...[chat.text(', 안녕'), chat.text(' 😀'), chat.finish, chat.done],
    ];
    const sorted = (text: string) => events(text).map((event) => Object.entries(event).sort());
    assert.deepEqual(sorted(reply.text()), sorted(expected.join('')));
    assert.equal(textOf(reply.text()), 'Guten Tag, 안녕 😀');
    assert.equal(reply.text().split(SEAM).length, 2);
    assert.equal(reply.text().split('data: [DONE]\n\n').length, 2);
    assert.ok(reply.text().endsWith(chat.done));
    assert.deepEqual(bench.tickets[0]?.outcomes.at(-1), { kind: 'completed' });
  });

  test('asks for the same with the text as the last message, and for a stream', async () => {
    const made = await scene(cut('Guten', ' "Tag"\n'), goesOn(['.']));
    const body = {
      ...BODY,
      temperature: 0,
      max_tokens: 20,
      n_predict: 30,
      max_completion_tokens: -1,
      top_k: 3,
    };
    await ask(made.bench.url + PATH, body);
    assert.deepEqual(lastBody(made.cpu), {
      ...body,
      return_progress: true,
      max_tokens: 17,
      n_predict: 27,
      messages: [...BODY.messages, { role: 'assistant', content: 'Guten "Tag"\n' }],
    });
  });

  test('joins the text to a prefill of the client, whose tokens are not counted', async () => {
    for (const [prefill, joined] of [
      ['Well, ', 'Well, Guten Tag'],
      [
        [{ type: 'text', text: 'Well, ' }],
        [
          { type: 'text', text: 'Well, ' },
          { type: 'text', text: 'Guten Tag' },
        ],
      ],
    ]) {
      const made = await scene(cut('Guten', ' Tag'), goesOn(['.']));
      const messages = [...BODY.messages, { role: 'assistant', content: prefill }];
      const reply = await ask(made.bench.url + PATH, { ...BODY, messages, max_tokens: 9 });
      assert.deepEqual(lastBody(made.cpu).messages, [
        ...BODY.messages,
        { role: 'assistant', content: joined },
      ]);
      assert.equal(lastBody(made.cpu).max_tokens, 7);
      assert.equal(textOf(reply.text()), 'Guten Tag.');
    }
  });

  test('knows the template once for an image and model, and the tokens each time', async () => {
    const made = await scene(cut('a'), goesOn(['b']));
    await ask(made.bench.url + PATH, BODY);
    await ask(made.bench.url + PATH, BODY);
    const once = ['/tokenize', '/tokenize', PATH];
    assert.deepEqual(asked(made), ['/apply-template', '/apply-template', ...once, ...once]);
  });

  test('carries the name that was asked for', async () => {
    const { bench } = await scene(cut('a'), goesOn(['b']));
    const reply = await ask(bench.url + PATH, { ...BODY, model: 'gpt-4o-mini' });
    assert.deepEqual([...new Set(events(reply.text()).map(({ model }) => model))], ['gpt-4o-mini']);
  });

  test('loses nothing of an event that was cut in the middle', async () => {
    const half = chat.text(' Tag').slice(0, 60);
    const { bench } = await scene(stream([chat.role, chat.text('Guten'), half], 'reset'), goesOn([' Tag']));
    assert.equal(textOf((await ask(bench.url + PATH, BODY)).text()), 'Guten Tag');
  });

  test('adds usage up: the text before the seam is no prompt', async () => {
    const usage = (prompt: number, completion: number, cached: number) =>
      other(chat.text('')).replace(
        /"choices":\[.*\],"created"/,
        `"choices":[],"usage":{"completion_tokens":${completion},"prompt_tokens":${prompt},"total_tokens":${prompt + completion},"prompt_tokens_details":{"cached_tokens":${cached}}},"created"`,
      );
    const pieces = [...more(' c').slice(0, -1), usage(12, 4, 12), chat.done];
    const { bench } = await scene(cut('a', ' b'), continuing(stream(pieces)));
    const reply = await ask(bench.url + PATH, { ...BODY, stream_options: { include_usage: true } });
    assert.deepEqual(events(reply.text()).at(-1)?.['usage'], {
      completion_tokens: 6,
      prompt_tokens: 10,
      total_tokens: 16,
      prompt_tokens_details: { cached_tokens: 10 },
    });
  });

  test('takes prompt progress and the second role out', async () => {
    const pieces = [chat.progress(0, 40), chat.progress(40, 40), ...more('b')];
    const { bench } = await scene(cut('a'), continuing(stream(pieces)));
    const text = (await ask(bench.url + PATH, BODY)).text();
    assert.doesNotMatch(text, /prompt_progress/);
    assert.equal(text.split('"role"').length, 2);
  });

  test('ends by itself where the limit of tokens is reached, with no call', async () => {
    const first = stream([chat.progress(0, 40), chat.role, chat.text('a'), chat.text(' b')], 'reset');
    const made = await scene(first, goesOn(['c']));
    const options = { max_tokens: 2, stream_options: { include_usage: true } };
    const reply = await ask(made.bench.url + PATH, { ...BODY, ...options });
    assert.ok(!asked(made).includes(PATH));
    const [finish, usage] = events(reply.text()).slice(-2);
    assert.deepEqual(finish?.['choices'], [{ finish_reason: 'length', index: 0, delta: {} }]);
    assert.equal(finish?.['id'], 'chatcmpl-x');
    assert.deepEqual(usage?.['usage'], { completion_tokens: 2, prompt_tokens: 40, total_tokens: 42 });
    assert.ok(reply.text().endsWith(chat.done));
    assert.deepEqual(made.bench.tickets[0]?.outcomes.at(-1), { kind: 'completed' });
  });
});

test('a seam is told once, though the instance was not ready at first', async () => {
  let loading = 2;
  const ready = goesOn(['b']);
  const second: Behaviour = (arrival) => {
    loading -= 1;
    return loading < 0 ? ready(arrival) : failing(503, 'Loading model')(arrival);
  };
  const { bench } = await scene(cut('a'), second, {
    onFailure: () => ({ do: 'grant', instance: 1, reason: 'reset' }),
  });
  const reply = await ask(bench.url + PATH, BODY);
  assert.equal(textOf(reply.text()), 'ab');
  assert.equal(reply.text().split(SEAM).length, 2);
});

test('a suspect that dies again goes on from all of its text', async () => {
  const usage = `"choices":[],"usage":{"completion_tokens":1,"prompt_tokens":13,"total_tokens":14}`;
  const counted = chat.text('').replace(/"choices":\[.*\],"created"/, `${usage},"created"`);
  const third = await fakeLlama(continuing(stream([...more(' d').slice(0, -1), counted, chat.done])));
  const second = continuing(stream([chat.role, chat.text(' b'), chat.text(' c')].map(other), 'reset'));
  const gpu = await fakeLlama(cut('a'));
  const cpu = await fakeLlama(second);
  const bench = await forwardBench({
    ports: [gpu.port, cpu.port, third.port],
    onFailure: ({ outcomes }) => ({ do: 'grant', instance: outcomes.length, reason: 'reset' }),
  });
  closers.push(bench.close, gpu.close, cpu.close, third.close);
  const reply = await ask(bench.url + PATH, { ...BODY, stream_options: { include_usage: true } });
  assert.equal(textOf(reply.text()), 'a b c d');
  assert.equal(lastBody(third).messages.at(-1).content, 'a b c');
  assert.deepEqual(events(reply.text()).at(-1)?.['usage'], {
    completion_tokens: 4,
    prompt_tokens: 10,
    total_tokens: 14,
  });
});

describe('a stop string over the seam', () => {
  const stopped = async (before: string[], after: string[], stop: unknown) => {
    const made = await scene(cut(...before), goesOn(after));
    const reply = await ask(made.bench.url + PATH, { ...BODY, stop });
    const finish = events(reply.text()).at(-1)?.['choices'] as { finish_reason: string }[];
    return { text: textOf(reply.text()), finish: finish[0]?.finish_reason, raw: reply.text(), made };
  };

  test('ends the answer before it, with finish_reason stop and one end mark', async () => {
    const { text, finish, raw, made } = await stopped(['one', ' EN'], ['D', ' two'], ['END', 'zzz']);
    assert.deepEqual([text, finish], ['one EN', 'stop']);
    assert.equal(raw.split(chat.done).length, 2);
    assert.deepEqual(made.bench.tickets[0]?.outcomes.at(-1), { kind: 'completed' });
  });

  test('closes the instance that would go on', async () => {
    const endless: Behaviour = continuing(stream([chat.role, chat.text('D')].map(other), 'hang'));
    const { bench, cpu } = await scene(cut(' EN'), endless);
    await ask(bench.url + PATH, { ...BODY, stop: 'END' });
    await cpu.arrivals.at(-1)?.closed;
  });

  test('is held back until it is told, and given where it is none', async () => {
    const { text, finish } = await stopped(['one E'], ['N', 'tire', ' two'], 'END');
    assert.deepEqual([text, finish], ['one ENtire two', 'stop']);
  });

  test('that is cut by the end is given whole', async () => {
    const { text } = await stopped(['one E'], ['N'], 'END');
    assert.equal(text, 'one EN');
  });

  test('counts its tokens', async () => {
    const first = stream([chat.role, chat.text('a'), chat.text(' EN')], 'reset');
    const second = stream([chat.progress(0, 42), ...more('D')], 'end');
    const { bench } = await scene(first, continuing(second));
    const reply = await ask(bench.url + PATH, {
      ...BODY,
      stop: 'END',
      stream_options: { include_usage: true },
    });
    const usage = { completion_tokens: 3, prompt_tokens: 40, total_tokens: 43 };
    assert.deepEqual(events(reply.text()).at(-1)?.['usage'], usage);
  });
});

describe('what is not continued ends with an error event', () => {
  const refused: readonly [string, object][] = [
    ['tools', { tools: [{ type: 'function', function: { name: 'f' } }] }],
    ['functions', { functions: [{ name: 'f' }] }],
    ['a grammar', { grammar: 'root ::= "a"' }],
    ['a JSON schema', { json_schema: {} }],
    ['a response format', { response_format: { type: 'json_object' } }],
    ['several choices', { n: 2 }],
    ['logprobs', { logprobs: true }],
    ['probabilities', { n_probs: 3 }],
    ['echo', { echo: true }],
    ['no turn of its own', { add_generation_prompt: false }],
    [
      'a last message with a tool call',
      { messages: [...BODY.messages, { role: 'assistant', content: 'a', tool_calls: [{ id: 'c' }] }] },
    ],
  ];
  for (const [name, more] of refused) {
    test(name, async () => {
      const made = await scene(cut('a', 'b'), goesOn(['c']));
      const reply = await ask(made.bench.url + PATH, { ...BODY, ...more });
      assert.equal(textOf(reply.text()), 'ab');
      assert.match(reply.text(), /"failed_after_output"[^\n]*\n\n$/);
      assert.deepEqual(asked(made), []);
    });
  }

  const never: readonly [string, Behaviour][] = [
    ['reasoning', stream([chat.role, chat.reasoning('hm'), chat.text('a')], 'reset')],
    ['a tool call', stream([chat.role, chat.text('a'), chat.tool('f')], 'reset')],
    ['the finish', stream([chat.role, chat.text('a'), chat.finish], 'reset')],
  ];
  for (const [name, first] of never) {
    test(`after ${name} was forwarded`, async () => {
      const made = await scene(first, goesOn(['c']));
      const reply = await ask(made.bench.url + PATH, BODY);
      assert.match(reply.text(), /"failed_after_output"[^\n]*\n\n$/);
      assert.deepEqual(asked(made), []);
    });
  }

  test('with resume switched off', async () => {
    const made = await scene(cut('a'), goesOn(['c']), { settings: { resume: false } });
    const reply = await ask(made.bench.url + PATH, BODY);
    assert.match(reply.text(), /"failed_after_output"[^\n]*\n\n$/);
    assert.deepEqual(asked(made), []);
  });

  test('with Llamastead-Replay: never', async () => {
    const made = await scene(cut('a'), goesOn(['c']));
    await ask(made.bench.url + PATH, BODY, { 'Llamastead-Replay': 'never' });
    assert.deepEqual(asked(made), []);
  });

  test('on another path', async () => {
    const made = await scene(cut('a'), goesOn(['c']));
    const piece = 'data: {"choices":[{"text":"a","index":0,"finish_reason":null}]}\n\n';
    made.gpu.behave(stream([piece], 'reset'));
    const reply = await ask(`${made.bench.url}/v1/completions`, { model: 'chat', prompt: 'x', stream: true });
    assert.match(reply.text(), /"failed_after_output"[^\n]*\n\n$/);
  });

  const unfit: readonly [string, string[], Continuing, RegExp][] = [
    ['a text with special tokens', ['a <|end|>', ' b'], {}, /special tokens/],
    ['a template that closes the turn', ['a'], { turn: (text) => `<|assistant|>${text}<|end|>` }, /template/],
    ['a template that trims', ['a'], { turn: (text) => `<|assistant|>${text.trim()}` }, /template/],
    [
      'a template that inserts thinking',
      ['a'],
      { turn: (text) => `<|assistant|><think></think>${text}` },
      /template/,
    ],
    ['a template that opens thinking', ['a'], { open: '<|assistant|><think>\n' }, /template/],
  ];
  for (const [name, texts, template, why] of unfit) {
    test(name, async () => {
      const made = await scene(cut(...texts), goesOn(['c'], template));
      const reply = await ask(made.bench.url + PATH, BODY);
      assert.match(reply.text(), /"failed_after_output"[^\n]*\n\n$/);
      assert.ok(!asked(made).includes(PATH));
      const outcome = made.bench.tickets[0]?.outcomes.at(-1);
      assert.ok(outcome?.kind === 'failed' && outcome.failure.kind === 'not_resumable');
      assert.match(outcome.failure.why, why);
    });
  }

  test('a template whose thinking is closed is fit', async () => {
    const { bench } = await scene(cut('a'), goesOn(['b'], { open: '<|assistant|><think>\n\n</think>\n\n' }));
    assert.equal(textOf((await ask(bench.url + PATH, BODY)).text()), 'ab');
  });
});

/** A second instance that is silent in each step of a resume, and the request in which it is. */
const SILENCES: readonly (readonly [arrival: number, Behaviour])[] = [
  [0, silent],
  [4, continuing(silent)],
  [4, continuing(stream([chat.role, chat.text('c')], 'hang'))],
];

describe('a resume that fails itself ends with an error event', () => {
  const failures: readonly [string, Behaviour, string][] = [
    ['by a reset before its text', continuing(stream([chat.role], 'reset')), 'reset'],
    ['by a reset after its text', continuing(stream([chat.role, chat.text('c')], 'reset')), 'reset'],
    ['by an end without an end mark', continuing(stream([chat.role, chat.text('c')])), 'reset'],
    ['by a reset of a question', ({ reset }) => reset(), 'reset'],
    ['by an error answer', continuing(failing(400, 'too long')), 'http'],
    ['by an error event', continuing(stream([chat.role, chat.error])), 'http'],
    ['by an error answer to a question', failing(404, 'no such path'), 'http'],
    ['by a model that loads', failing(503, 'Loading model'), 'loading'],
    ['by a whole answer', continuing(whole()), 'not_resumable'],
    ['by reasoning', continuing(stream([chat.role, chat.reasoning('c')], 'hang')), 'not_resumable'],
    ['by a tool call', continuing(stream([chat.role, chat.tool('f')], 'hang')), 'not_resumable'],
  ];
  for (const [name, second, kind] of failures) {
    test(name, async () => {
      const { bench } = await scene(cut('a', 'b'), second);
      const reply = await ask(bench.url + PATH, BODY);
      assert.equal(reply.how, 'whole');
      assert.match(textOf(reply.text()), /^abc?$/);
      assert.match(reply.text(), /"failed_after_output"[^\n]*\n\n$/);
      assert.doesNotMatch(reply.text(), /\[DONE\]/);
      const outcome = bench.tickets[0]?.outcomes.at(-1);
      assert.ok(outcome?.kind === 'failed');
      assert.deepEqual([outcome.failure.kind, outcome.forwarded], [kind, 'content']);
    });
  }

  test('by silence', async () => {
    const clock = manualClock();
    const settings = { firstToken: 5_000 };
    const { bench, cpu } = await scene(cut('a'), continuing(silent), { settings, clock });
    const asked = ask(bench.url + PATH, BODY);
    // What comes after the questions is the text to go on with.
    await cpu.arrival(4);
    clock.advance(5_000);
    const reply = await asked;
    assert.match(reply.text(), /"failed_after_output"[^\n]*\n\n$/);
    const outcome = bench.tickets[0]?.outcomes.at(-1);
    assert.deepEqual(outcome?.kind === 'failed' && outcome.failure, { kind: 'first_token_deadline' });
  });

  test('by closed connections, in each of its steps', async () => {
    for (const [step, [arrival, second]] of SILENCES.entries()) {
      const { bench, cpu } = await scene(cut('a'), second);
      const sent = post(bench.url + PATH, BODY);
      await cpu.arrival(arrival);
      if (step === 2) await (await sent.reply).until('"c"');
      bench.api.closeConnections('1');
      const reply = await sent.reply;
      assert.equal(await reply.end, 'whole');
      assert.match(reply.text(), /"failed_after_output"[^\n]*\n\n$/);
    }
  });
});

describe('while a text is to go on', () => {
  test('a client that leaves cancels, whatever the step', async () => {
    for (const [step, [arrival, second]] of SILENCES.entries()) {
      const { bench, cpu } = await scene(cut('a'), second);
      const sent = post(bench.url + PATH, BODY);
      const { closed } = await cpu.arrival(arrival);
      if (step === 2) await (await sent.reply).until('"c"');
      sent.leave();
      await closed;
      await bench.ended(0);
      assert.deepEqual(bench.tickets[0]?.outcomes.at(-1), { kind: 'client_gone', finished: false });
    }
  });

  test('a client that leaves in the queue leaves it', async () => {
    const { bench } = await scene(cut('a'), silent, { onFailure: () => ({ do: 'wait' }) });
    const sent = post(bench.url + PATH, BODY);
    await bench.outcome(0);
    sent.leave();
    assert.equal((await bench.ended(0)).outcome, 'client_gone');
    assert.equal(bench.tickets[0]?.abandoned, true);
  });

  test('goes on under its key though its client left, and is whole for the one that comes back', async () => {
    const { bench } = await scene(cut('a'), goesOn(['b']), { onFailure: () => ({ do: 'wait' }) });
    const key = { 'Idempotency-Key': 'k' };
    const lost = await post(bench.url + PATH, BODY, key).reply;
    await bench.outcome(0);
    lost.leave();
    await bench.closed(0);
    bench.tickets[0]?.obey({ do: 'grant', instance: 1, reason: 'reset' });
    const back = await ask(bench.url + PATH, BODY, key);
    assert.equal(textOf(back.text()), 'ab');
    assert.equal(back.text().split(SEAM).length, 2);
    assert.ok(back.text().endsWith(chat.done));
    assert.equal(bench.tickets.length, 1);
    assert.equal(bench.tickets[0]?.outcomes.at(-1)?.kind, 'completed');
  });

  test('comments keep the stream alive', async () => {
    const { bench } = await scene(cut('a'), silent, {
      onFailure: () => ({ do: 'wait' }),
      settings: { keepaliveMs: 20 },
    });
    const reply = await post(bench.url + PATH, BODY).reply;
    await reply.until('"content":"a"');
    await reply.until(': keepalive\n\n');
    reply.leave();
  });
});
