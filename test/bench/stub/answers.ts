/** The stub's answers in llama-server's form, as bytes that are made once. */

export interface Answers {
  /** A whole answer with its head. */
  readonly whole: Buffer;
  /** A stream: its head, its events in HTTP chunks, and its end. */
  readonly head: Buffer;
  readonly events: readonly Buffer[];
}

/** Quotes, escapes, line ends and characters of several bytes: a proxy that writes them anew or cuts them shows. */
const WORDS = [
  ...[' the', ' Straße', ' 日本', ' 😀', ' "q"', ' a\\b', '\n', ' <b>'],
  ...[' llama', ' é', '{"k":1}', ' data:', ' 0.5', ' of', ' \u2028', ' end'],
];

const made = new Map<string, Answers>();

/** Deterministic in `chunks` (text events of the stream) and `seed`. */
export function answersFor(chunks: number, seed: number): Answers {
  const key = `${chunks} ${seed}`;
  const known = made.get(key);
  if (known !== undefined) return known;
  const answers = make(chunks, seed);
  made.set(key, answers);
  return answers;
}

/** A whole answer of HTTP with a JSON body. */
export function jsonAnswer(body: string, status = '200 OK'): Buffer {
  const length = Buffer.byteLength(body);
  const type = 'application/json; charset=utf-8';
  return Buffer.from(
    `HTTP/1.1 ${status}\r\nContent-Type: ${type}\r\nContent-Length: ${length}\r\n\r\n${body}`,
  );
}

function make(chunks: number, seed: number): Answers {
  const id = `chatcmpl-${String(seed).padStart(32, '0')}`;
  const tail = `"created":1700000000,"id":"${id}","model":"stub","system_fingerprint":"b11669-stub"`;
  const timings = `"timings":{"cache_n":0,"prompt_n":12,"prompt_ms":3.5,"predicted_n":${chunks},"predicted_ms":9.25}`;
  const event = (choice: string, more = '') =>
    chunk(`data: {"choices":[{${choice}}],${tail},"object":"chat.completion.chunk"${more}}\n\n`);
  const text = words(seed);
  const events = [event('"finish_reason":null,"index":0,"delta":{"role":"assistant","content":null}')];
  for (let i = 0; i < chunks; i += 1) {
    const content = JSON.stringify(`${text()}${i}`);
    events.push(event(`"finish_reason":null,"index":0,"delta":{"content":${content}}`));
  }
  events.push(event('"finish_reason":"stop","index":0,"delta":{}', `,${timings}`), chunk('data: [DONE]\n\n'));
  const message = JSON.stringify(`${text()} this is seed ${seed}`);
  const choice = `{"finish_reason":"stop","index":0,"message":{"role":"assistant","content":${message}}}`;
  const usage = '"usage":{"completion_tokens":8,"prompt_tokens":12,"total_tokens":20}';
  return {
    whole: jsonAnswer(`{"choices":[${choice}],${tail},"object":"chat.completion",${usage},${timings}}`),
    head: Buffer.from(
      'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n\r\n',
    ),
    events: [...events, Buffer.from('0\r\n\r\n')],
  };
}

function chunk(text: string): Buffer {
  return Buffer.from(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`);
}

/** A linear congruential generator (Numerical Recipes) picks the words. */
function words(seed: number): () => string {
  let state = (seed * 2_654_435_761 + 12_345) >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return WORDS[state >>> 28] ?? '';
  };
}
