/** The length of answers that the model ended by itself, as the core is told of it. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import {
  type Behaviour,
  chat,
  continuing,
  fakeLlama,
  JSON_HEAD,
  stream,
  WHOLE,
  whole,
} from '../../../support/fake-llama.ts';
import { forwardBench } from '../../../support/forward-bench.ts';
import { ask, post } from '../../../support/raw-client.ts';

const CHAT = '/v1/chat/completions';
const gpu = await fakeLlama(whole());
const cpu = await fakeLlama(whole());
const bench = await forwardBench({
  ports: [gpu.port, cpu.port],
  onFailure: () => ({ do: 'grant', instance: 1, reason: 'reset' }),
});

after(async () => {
  await bench.close();
  await gpu.close();
  await cpu.close();
});

const TIMINGS =
  '"timings":{"cache_n":0,"prompt_n":40,"prompt_ms":20.5,"predicted_n":20,"predicted_ms":100.25}';
const completion = (reason: string) =>
  `{"choices":[{"text":"\\"finish_reason\\":\\"stop\\"","index":0,"logprobs":null,"finish_reason":"${reason}"}],"object":"text_completion",${TIMINGS}}`;
const message = (reason: string, content = '{"type":"text","text":"hi"}') =>
  `{"id":"x","type":"message","role":"assistant","content":[${content}],"model":"chat","stop_reason":"${reason}","stop_sequence":null,"usage":{"cache_read_input_tokens":32,"input_tokens":1,"output_tokens":20}}`;
const TOOL_USE =
  '{"type":"tool_use","id":"t","name":"f","input":{"stop_reason":"max_tokens","output_tokens":7,"finish_reason":"length"}}';
const messageStream = (reason: string) => [
  'event: message_start\ndata: {"type":"message_start","message":{"stop_reason":null,"usage":{"output_tokens":0}}}\n\n',
  'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hi"}}\n\n',
  `event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"${reason}","stop_sequence":null},"usage":{"output_tokens":20}}\n\n`,
  'event: message_stop\ndata: {"type":"message_stop"}\n\n',
];
const RESPONSE = `{"object":"response","output":[],"status":"completed","usage":{"input_tokens":33,"output_tokens":3}}`;

const cut = chat.finish.replace('"stop"', '"length"');
const called = chat.finish.replace('"stop"', '"tool_calls"');
const bare = chat.finish.replace(/,"timings":\{[^}]*\}/, '');
const usage = `data: {"choices":[],"object":"chat.completion.chunk","usage":{"completion_tokens":20},${TIMINGS}}\n\n`;
const streamed = (...last: readonly string[]) => stream([chat.role, chat.text('a'), ...last, chat.done]);

/** In pieces that the kernel gives one by one. */
function inPieces(...pieces: readonly string[]): Behaviour {
  return async ({ head, write, end }) => {
    head(200, JSON_HEAD);
    for (const piece of pieces) {
      await write(piece);
      await new Promise((resolve) => setImmediate(resolve));
    }
    end();
  };
}

const LONG = 'x'.repeat(200_000);
const ANSWERS: readonly (readonly [path: string, what: string, answer: Behaviour, tokens: number | null])[] =
  [
    [CHAT, 'whole', whole(), 20],
    [CHAT, 'whole, with tool calls', whole(WHOLE.replace('"stop"', '"tool_calls"')), 20],
    [CHAT, 'whole, cut by a limit', whole(WHOLE.replace('"stop"', '"length"')), null],
    [CHAT, 'whole, long', inPieces(...WHOLE.split('Guten').map((part, i) => (i ? LONG + part : part))), 20],
    [CHAT, 'whole, without measurements', whole(WHOLE.replace('"timings"', '"other"')), null],
    [CHAT, 'a stream', streamed(chat.finish), 20],
    [CHAT, 'a stream with a tool call', streamed(chat.tool('f'), called), 20],
    [CHAT, 'a stream with usage', streamed(bare, usage), 20],
    [CHAT, 'a stream, cut by a limit', streamed(cut), null],
    [CHAT, 'a stream with usage, cut by a limit', streamed(bare.replace('"stop"', '"length"'), usage), null],
    ['/v1/completions', 'whole', whole(completion('stop')), 20],
    ['/v1/completions', 'whole, cut by a limit', whole(completion('length')), null],
    [
      '/v1/completions',
      'a stream',
      stream([
        `data: ${completion('length').replace('"length"', 'null')}\n\n`,
        `data: ${completion('stop')}\n\n`,
        chat.done,
      ]),
      20,
    ],
    ['/v1/messages', 'whole', whole(message('end_turn')), 20],
    ['/v1/messages', 'whole, cut by a limit', whole(message('max_tokens')), null],
    ['/v1/messages', 'whole, with a tool that has such fields', whole(message('tool_use', TOOL_USE)), 20],
    ['/v1/messages', 'a stream', stream(messageStream('end_turn')), 20],
    ['/v1/messages', 'a stream, cut by a limit', stream(messageStream('max_tokens')), null],
    ['/v1/responses', 'which is completed in any case', whole(RESPONSE), null],
    ['/v1/embeddings', 'which has none', whole('{"object":"list","data":[]}'), null],
  ];

for (const [path, what, answer, tokens] of ANSWERS) {
  test(`${path}, ${what}: ${tokens ?? 'no length'}`, async () => {
    gpu.behave(answer);
    const n = bench.lengths.length;
    const body = { model: 'chat', stream: what.startsWith('a stream') };
    assert.equal((await ask(bench.url + path, body)).status, 200);
    await bench.outcome(n);
    assert.deepEqual(bench.lengths.slice(n), [tokens]);
  });
}

test('a client that leaves after the finish had a whole answer, one that leaves before it a cut one', async () => {
  for (const [last, tokens] of [
    [chat.finish, 20],
    [chat.text('b'), null],
  ] as const) {
    gpu.behave(stream([chat.role, chat.text('a'), last], 'hang'));
    const n = bench.lengths.length;
    const sent = post(bench.url + CHAT, { model: 'chat', stream: true });
    await (await sent.reply).until(last === chat.finish ? '"finish_reason":"stop"' : '"content":"b"');
    sent.leave();
    await bench.outcome(n);
    assert.deepEqual(bench.lengths.slice(n), [tokens]);
  }
});

test('of an answer that two instances gave none knows the length', async () => {
  gpu.behave(stream([chat.role, chat.text('Guten')], 'reset'));
  cpu.behave(continuing(stream([chat.role, chat.text(' Tag'), chat.finish, chat.done])));
  const n = bench.lengths.length;
  const messages = [{ role: 'user', content: 'hi' }];
  const reply = await ask(bench.url + CHAT, { model: 'chat', stream: true, messages });
  assert.match(reply.text(), /Guten.* Tag.*\[DONE\]/s);
  await bench.outcome(n + 1);
  assert.deepEqual(bench.lengths.slice(n), [null, null]);
});
