/** The pure parts of a resume, by properties. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asksForPlainText } from '../../../../app/adapters/http/forward/resume/eligible.ts';
import { resumedBody } from '../../../../app/adapters/http/forward/resume/resumed-body.ts';
import { afterSeam } from '../../../../app/adapters/http/forward/resume/seam.ts';
import { stopScan } from '../../../../app/adapters/http/forward/resume/stop-scan.ts';
import { transcript } from '../../../../app/adapters/http/forward/resume/transcript.ts';
import { chat } from '../../../support/fake-llama.ts';
import { fc } from '../../../support/property.ts';

const MESSAGES = [{ role: 'user', content: 'hi' }];
const few = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 12 });

/** What an instance would give that had written all of it: the end of the text, or where a stop string begins. */
function cutAtSeam(stops: readonly string[], before: string, after: string): string | null {
  const whole = before + after;
  for (let end = before.length + 1; end <= whole.length; end += 1) {
    const seen = whole.slice(0, end);
    const straddles = stops.some(
      (stop) => stop !== '' && seen.endsWith(stop) && end - stop.length < before.length,
    );
    if (straddles) return '';
    // Past this no stop string can begin before the seam.
    if (stops.every((stop) => end - before.length >= stop.length)) return null;
  }
  return null;
}

test('a stop string over the seam is found in whatever pieces it comes, and nothing else is lost', () => {
  fc.assert(
    fc.property(
      fc.array(few, { maxLength: 3 }),
      few,
      fc.array(few, { maxLength: 6 }),
      (some, before, pieces) => {
        const stops = some.filter((stop) => stop !== '');
        const scan = stopScan(stops, before);
        let told = '';
        let stopped = false;
        for (const piece of pieces) {
          const next = scan.push(piece);
          told += next.text;
          stopped = next.stopped;
          if (stopped) break;
        }
        if (!stopped) told += scan.rest();
        const expected = cutAtSeam(stops, before, pieces.join(''));
        assert.equal(told, expected ?? pieces.join(''));
        assert.equal(stopped, expected !== null);
      },
    ),
    { numRuns: 3_000 },
  );
});

test('a transcript is the text of the events, whatever characters are in it', () => {
  const piece = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('"', '\\', '\\"', '}}]', '안녕', '😀', '\n', '', '","x":"', '"delta":{"content":"'),
  );
  fc.assert(
    fc.property(fc.array(piece), (pieces) => {
      const kept = transcript(null);
      const bytes = Buffer.from(pieces.map(chat.text).join(''));
      let start = 0;
      for (const text of pieces) {
        const end = start + Buffer.byteLength(chat.text(text));
        kept.event(bytes, start, end);
        start = end;
      }
      // Lone surrogates are no text: UTF-8 has none.
      assert.equal(kept.text(), Buffer.from(pieces.join('')).toString('utf8'));
    }),
  );
});

test('a transcript takes text events of any form, and is honest about others', () => {
  const kept = transcript('alias');
  for (const event of [
    'data: {"id":"x","model":"m","choices":[{"delta":{"role":"assistant","content":"a"}}]}\n\n',
    'data: { "choices": [ { "delta": { "content": "b" } } ] }\n\n',
    'event: chunk\ndata: {"choices":[{"delta":{"content":"c","refusal":null}}]}\n\n',
  ]) {
    kept.event(Buffer.from(event), 0, Buffer.byteLength(event));
  }
  assert.equal(kept.text(), 'abc');
  assert.deepEqual(kept.now.identity, { id: 'x', model: 'alias' });
  kept.event(Buffer.from('data: {"choices":[]}\n\n'), 0, 22);
  assert.equal(kept.text(), null);
});

test('a text that is too long to be kept is not continued', () => {
  const kept = transcript(null);
  const event = Buffer.from(chat.text('x'.repeat(300_000)));
  for (let n = 0; n < 3; n += 1) kept.event(event, 0, event.length);
  assert.equal(kept.text()?.length, 900_000);
  kept.event(event, 0, event.length);
  assert.equal(kept.text(), null);
});

test('each limit of tokens is less what the text takes; the one that counts ends it', () => {
  const body = { messages: MESSAGES };
  const limits: readonly [object, object | null][] = [
    [{}, {}],
    [{ max_tokens: null }, { max_tokens: null }],
    [{ max_tokens: 10 }, { max_tokens: 6 }],
    [
      { max_tokens: 5, max_completion_tokens: 10, n_predict: 20 },
      { max_tokens: 1, max_completion_tokens: 6, n_predict: 16 },
    ],
    [{ max_tokens: 4 }, null],
    [{ max_tokens: 0 }, null],
    [
      { max_tokens: 2, max_completion_tokens: 10 },
      { max_tokens: 1, max_completion_tokens: 6 },
    ],
    [{ max_tokens: 10, max_completion_tokens: 2 }, null],
    [{ max_tokens: 10, n_predict: 4 }, null],
    [
      { max_tokens: 2, n_predict: -1 },
      { max_tokens: 1, n_predict: -1 },
    ],
    [{ max_tokens: -1 }, { max_tokens: -1 }],
  ];
  for (const [given, expected] of limits) {
    const made = resumedBody({ ...body, ...given }, 'text', 4);
    const messages = [...MESSAGES, { role: 'assistant', content: 'text' }];
    assert.deepEqual(
      made,
      expected === null ? null : { ...body, ...given, ...expected, stream: true, messages },
    );
  }
});

test('only what asks for one plain text may be continued', () => {
  const good: readonly object[] = [
    {},
    { tools: [], functions: null, grammar: '', n: 1, logprobs: false, echo: false, response_format: null },
    { response_format: { type: 'text' } },
    { add_generation_prompt: true },
    { messages: [...MESSAGES, { role: 'assistant', content: 'a' }] },
    {
      messages: [...MESSAGES, { role: 'assistant', content: 'a' }],
      ...{ add_generation_prompt: false, continue_final_message: true },
    },
  ];
  const bad: readonly object[] = [
    { messages: [] },
    { messages: 'hi' },
    { n: 2 },
    { n: '1' },
    { top_logprobs: 2 },
    { response_format: { type: 'json_schema' } },
    { continue_final_message: false },
    { messages: [...MESSAGES, { role: 'assistant', content: 'a' }], add_generation_prompt: true },
    { messages: [...MESSAGES, { role: 'assistant', content: 'a', reasoning_content: 'hm' }] },
  ];
  for (const more of good)
    assert.equal(asksForPlainText({ messages: MESSAGES, ...more }), true, JSON.stringify(more));
  for (const more of bad)
    assert.equal(asksForPlainText({ messages: MESSAGES, ...more }), false, JSON.stringify(more));
});

test('after the seam an event keeps its text and loses its role', () => {
  const seam = { identity: { id: 'first', model: 'asked' }, tokens: 3 };
  const event = (delta: object, more: object = {}) => ({
    id: 'second',
    choices: [{ index: 0, delta, ...more }],
    model: 'm',
  });
  assert.equal(afterSeam(event({ role: 'assistant', content: null }), seam), null);
  assert.deepEqual(afterSeam(event({ role: 'assistant', content: 'a' }), seam), {
    id: 'first',
    choices: [{ index: 0, delta: { content: 'a' } }],
    model: 'asked',
  });
  assert.deepEqual(afterSeam(event({}, { finish_reason: 'stop' }), seam)?.['choices'], [
    { index: 0, delta: {}, finish_reason: 'stop' },
  ]);
});
