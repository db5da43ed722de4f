import assert from 'node:assert/strict';
import { test } from 'node:test';
import { alarms } from '../../../../app/adapters/http/forward/alarms.ts';
import { askForProgress, readFields } from '../../../../app/adapters/http/forward/body.ts';
import { firstContentMs } from '../../../../app/adapters/http/forward/budget.ts';
import { deadlineOf, requestIdOf } from '../../../../app/adapters/http/forward/headers.ts';
import { PROTOCOLS } from '../../../../app/adapters/http/forward/protocols.ts';
import { renameModel } from '../../../../app/adapters/http/forward/rename.ts';
import { withoutLongStrings } from '../../../../app/adapters/http/forward/skim.ts';
import { timingsIn } from '../../../../app/adapters/http/forward/timings.ts';
import { READER_MS, watch } from '../../../../app/adapters/http/forward/watch.ts';
import { manualClock } from '../../../support/clock.ts';
import { chat, WHOLE } from '../../../support/fake-llama.ts';
import { fc } from '../../../support/property.ts';

const UNKNOWN = { prompt: null, generation: null };

test('the first-content deadline is that of its table', () => {
  const of = (more: Partial<Parameters<typeof firstContentMs>[0]>) =>
    firstContentMs({
      setting: 'auto',
      placement: 'gpu',
      speed: UNKNOWN,
      promptTokens: 900,
      aheadTokens: 0,
      tokens: 0,
      ...more,
    });
  const speed = { prompt: 30, generation: 10 };
  assert.equal(of({}), 600_000);
  assert.equal(of({ speed: { prompt: 1000, generation: 10 } }), 30_000);
  assert.equal(of({ speed }), 90_000);
  assert.equal(of({ speed, tokens: 100 }), 120_000);
  assert.equal(of({ speed, aheadTokens: 900 }), 180_000);
  assert.equal(of({ speed: { prompt: 1000, generation: 10 }, aheadTokens: 900 }), 32_700);
  assert.equal(of({ placement: 'split', speed }), 90_000);
  assert.equal(of({ placement: 'cpu' }), Number.POSITIVE_INFINITY);
  assert.equal(of({ placement: 'cpu', setting: 2000 }), 2000);
  assert.equal(of({ setting: 2000, tokens: 8 }), 10_000);
});

test('a deadline of the client is read from its headers, and a wrong one is not ignored', () => {
  const of = (headers: Record<string, string>) => deadlineOf(headers);
  assert.deepEqual(of({}), { ok: true, ms: null });
  assert.deepEqual(of({ 'llamastead-deadline': '60s' }), { ok: true, ms: 60_000 });
  assert.deepEqual(of({ 'llamastead-deadline': '500ms' }), { ok: true, ms: 500 });
  assert.deepEqual(of({ 'llamastead-deadline': '1.5m' }), { ok: true, ms: 90_000 });
  assert.deepEqual(of({ 'llamastead-deadline': '90' }), { ok: true, ms: 90_000 });
  assert.deepEqual(of({ 'llamastead-deadline': '5s', 'x-stainless-read-timeout': '600' }), {
    ok: true,
    ms: 5000,
  });
  assert.deepEqual(of({ 'x-stainless-read-timeout': '600' }), { ok: true, ms: 600_000 });
  assert.deepEqual(of({ 'x-stainless-read-timeout': 'NaN' }), { ok: true, ms: null });
  for (const wrong of ['soon', '-1s', '0s', '', '1d'])
    assert.equal(of({ 'llamastead-deadline': wrong }).ok, false, wrong);
});

test('a request id is echoed where it is 1 to 128 printable characters, else made anew each time', () => {
  assert.equal(requestIdOf({ 'x-request-id': 'abc 1' }), 'abc 1');
  assert.equal(requestIdOf({ 'x-request-id': 'x'.repeat(128) }), 'x'.repeat(128));
  const made = ['x'.repeat(129), 'b\u0001d', 'é', '', undefined].map((id) =>
    requestIdOf(id === undefined ? {} : { 'x-request-id': id }),
  );
  assert.equal(new Set(made).size, made.length);
  for (const id of made) assert.match(id, /^[\x21-\x7e]{16,64}$/);
});

test('a body is looked into for the fields that matter, and a wrong one says what was expected', () => {
  const fields = (body: string) => readFields(Buffer.from(body));
  const full = fields('{"model":"chat","stream":true,"max_tokens":7,"n":1}');
  assert.deepEqual(full, {
    ok: true,
    fields: {
      model: 'chat',
      stream: true,
      maxTokens: 7,
      progressFree: true,
      plainText: false,
      user: null,
      background: false,
      textBytes: 51,
    },
  });
  const bare = fields('{"model":null,"stream":"yes","n":2}');
  assert.deepEqual(bare, {
    ok: true,
    fields: {
      model: null,
      stream: false,
      maxTokens: null,
      progressFree: false,
      plainText: false,
      user: null,
      background: false,
      textBytes: 35,
    },
  });
  for (const wrong of ['', '{', '[]', '"x"', 'null', '{"model":7}']) {
    const read = fields(wrong);
    assert.equal(read.ok, false, wrong);
    if (!read.ok) assert.match(read.message, /JSON object|string/);
  }
});

test('long strings of a large body are not parsed; what is around them is', () => {
  const long = 'x'.repeat(30_000);
  const texts = [`${long}\\\\"`, `${long}\\\\`, `"${long}`, '{"model":"no"}', long];
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...texts)), fc.boolean(), (contents, stream) => {
      const body = Buffer.from(JSON.stringify({ contents, pad: long, model: '채팅', stream, max_tokens: 5 }));
      const skimmed = JSON.parse(withoutLongStrings(body) ?? 'null');
      assert.deepEqual(
        { ...skimmed, contents: null, pad: null },
        { ...JSON.parse(body.toString()), contents: null, pad: null },
      );
      const read = readFields(body);
      assert.deepEqual(read.ok && read.fields.model, '채팅');
    }),
  );
  assert.equal(withoutLongStrings(Buffer.from(`{"a":"${long}`)), null);
  assert.equal(readFields(Buffer.from(`{"a":"${long}`)).ok, false);
  assert.equal(readFields(Buffer.from(`{"a":"${long}",}`)).ok, false);
  const many = { model: 'm', words: Array.from({ length: 9000 }, () => 'w') };
  const read = readFields(Buffer.from(JSON.stringify(many)));
  assert.equal(read.ok && read.fields.model, 'm');
});

test('asking for progress leaves the rest of the body byte for byte', () => {
  const asked = askForProgress(Buffer.from(' {"model":"채팅","x":"}"}')).toString();
  assert.equal(asked, '{"return_progress":true,"model":"채팅","x":"}"}');
});

test('an alias replaces the name as a key, never in a text', () => {
  const rename = renameModel('chat', 'gpt "4"');
  assert.ok(rename);
  assert.equal(
    rename(Buffer.from(WHOLE)).toString(),
    WHOLE.replace('"model":"chat","object"', '"model":"gpt \\"4\\"","object"'),
  );
  assert.equal(renameModel('chat', 'chat'), null);
  assert.equal(renameModel('chat', null), null);
});

test('timings are found in an answer and in a last event', () => {
  const timings = { promptTokens: 40, promptMs: 20.5, cachedTokens: 0, tokens: 20, tokensMs: 100.25 };
  assert.deepEqual(timingsIn(Buffer.from(WHOLE)), timings);
  assert.deepEqual(timingsIn(Buffer.from(chat.finish)), timings);
  assert.equal(timingsIn(Buffer.from('{"timings":{')), null);
  assert.equal(timingsIn(Buffer.from('{}')), null);
});

const JUDGED: readonly (readonly [path: string, event: string, kind: string])[] = [
  ['/v1/chat/completions', chat.role, 'other'],
  ['/v1/chat/completions', chat.progress(3, 9), 'progress'],
  ['/v1/chat/completions', chat.text('x'), 'content'],
  ['/v1/chat/completions', chat.text(''), 'other'],
  ['/v1/chat/completions', chat.reasoning('x'), 'more'],
  ['/v1/chat/completions', chat.tool('f'), 'more'],
  ['/v1/chat/completions', chat.finish, 'finish'],
  ['/v1/chat/completions', chat.done, 'end'],
  ['/v1/chat/completions', chat.error, 'error'],
  ['/v1/chat/completions', ': ping\n\n', 'other'],
  ['/v1/chat/completions', 'data: {"choices":[],"usage":{}}\n\n', 'other'],
  ['/v1/chat/completions', 'data: no json\n\n', 'other'],
  ['/v1/completions', 'data: {"choices":[{"text":"x","finish_reason":null}]}\n\n', 'more'],
  [
    '/v1/completions',
    'data: {"choices":[{"text":"","finish_reason":null}],"prompt_progress":{}}\n\n',
    'progress',
  ],
  ['/v1/completions', 'data: {"choices":[{"text":"","finish_reason":"stop"}]}\n\n', 'finish'],
  ['/v1/completions', 'data: [DONE]\n\n', 'end'],
  ['/v1/responses', 'event: response.created\ndata: {}\n\n', 'other'],
  ['/v1/responses', 'event: response.output_text.delta\ndata: {"delta":"x"}\n\n', 'more'],
  ['/v1/responses', 'event: response.reasoning_text.delta\ndata: {"delta":"x"}\n\n', 'more'],
  ['/v1/responses', 'event: response.output_item.added\ndata: {"item":{"type":"message"}}\n\n', 'other'],
  ['/v1/responses', 'event: response.output_item.added\ndata: {"item":{"type":"function_call"}}\n\n', 'more'],
  ['/v1/responses', 'event: response.completed\ndata: {}\n\n', 'end'],
  ['/v1/responses', 'event: error\ndata: {"error":{}}\n\n', 'error'],
  ['/v1/responses', 'data: {"error":{"code":500}}\n\n', 'error'],
  ['/v1/messages', 'event: message_start\ndata: {}\n\n', 'other'],
  ['/v1/messages', 'event: content_block_start\ndata: {"content_block":{"type":"text"}}\n\n', 'other'],
  ['/v1/messages', 'event: content_block_start\ndata: {"content_block":{"type":"tool_use"}}\n\n', 'more'],
  [
    '/v1/messages',
    'event: content_block_delta\ndata: {"delta":{"type":"text_delta","text":"x"}}\n\n',
    'more',
  ],
  ['/v1/messages', 'event: message_delta\ndata: {}\n\n', 'finish'],
  ['/v1/messages', 'event: message_stop\ndata: {}\n\n', 'end'],
  ['/v1/messages', 'event: error\ndata: {"type":"error","error":{}}\n\n', 'error'],
];

test("each path's events are judged by its own protocol", () => {
  for (const [path, event, kind] of JUDGED) {
    const bytes = Buffer.from(`skipped${event}`);
    assert.equal(PROTOCOLS.get(path)?.judge?.(bytes, 7, bytes.length), kind, `${path} ${event}`);
  }
});

test('a client that reads slowly is no stall of the instance; one that takes nothing is given up', () => {
  const told: string[] = [];
  const clock = manualClock();
  const limits = { stallMs: 1000, firstMs: 5000, clientDeadline: Number.POSITIVE_INFINITY };
  const options = { ...limits, isReading: () => false };
  const watched = watch({ clock, alarms: alarms(clock), ...options, missed: (what) => told.push(what) });
  watched.bytes(true);
  watched.paused(true);
  clock.advance(READER_MS - 1);
  watched.paused(false);
  clock.advance(999);
  assert.deepEqual(told, []);
  watched.paused(true);
  clock.advance(READER_MS - 1);
  assert.deepEqual(told, []);
  clock.advance(1);
  assert.deepEqual(told, ['reader']);
  watched.paused(false);
  clock.advance(1000);
  assert.deepEqual(told, ['reader', 'stall']);
});

test('one timer serves all deadlines: each rings at its time, a removed one never', () => {
  const clock = manualClock();
  const list = alarms(clock);
  const rung: string[] = [];
  const alarm = (name: string, ms: number) => {
    const made = {
      at: clock.now().mono + ms,
      index: 0,
      ring: () => rung.push(`${name} ${clock.now().mono}`),
    };
    list.add(made);
    return made;
  };
  const late = alarm('late', 500);
  const gone = alarm('gone', 200);
  alarm('early', 100);
  const moved = alarm('moved', 900);
  list.remove(gone);
  moved.at = clock.now().mono + 300;
  list.sooner(moved);
  clock.advance(1000);
  assert.deepEqual(rung, ['early 1100', 'moved 1300', 'late 1500']);
  list.remove(late);
  clock.advance(10_000);
  assert.equal(rung.length, 3);
});

test('an alarm that another one removes as both come due does not ring', () => {
  const clock = manualClock();
  const list = alarms(clock);
  const rung: string[] = [];
  const second = { at: clock.now().mono + 100, index: 0, ring: () => rung.push('second') };
  list.add({
    at: clock.now().mono + 100,
    index: 0,
    ring() {
      rung.push('first');
      list.remove(second);
    },
  });
  list.add(second);
  clock.advance(1000);
  assert.deepEqual(rung, ['first']);
});
