/** What a drill's client sees of an answer. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerReader } from '../../app/inspect/drill/answer.ts';

const delta = (fields: object) => `data: ${JSON.stringify({ choices: [{ delta: fields }] })}\n\n`;
const call = (index: number, id?: string) =>
  delta({ tool_calls: [{ index, ...(id && { id }), function: { arguments: '1' } }] });

function read(pieces: readonly string[], ended = true, status = 200) {
  const reader = answerReader(status, true);
  const news = pieces.map((piece) => reader.take(piece));
  return { ...reader.seen(ended), news };
}

test('a stream is whole with its end mark alone, and its content is counted event by event', () => {
  const text = delta({ role: 'assistant', content: '' }) + delta({ content: 'a' }) + delta({ content: 'b' });
  const cut = read([text.slice(0, 60), text.slice(60)]);
  assert.deepEqual([cut.end, cut.pieces], ['cut', 2]);
  assert.equal(read([text, 'data: [DONE]\n\n']).end, 'whole');
  assert.equal(read([text, 'data: [DONE]\n\n'], false).end, 'cut');
  assert.deepEqual(read([delta({ content: '' }), delta({ content: 'a' })]).news, [false, true]);
});

test('an error in a stream is an explicit end, with or without an end mark', () => {
  const error = 'data: {"error":{"code":"failed_after_output","message":"gone"}}\n\n';
  for (const tail of ['', 'data: [DONE]\n\n']) {
    const { end, error: told } = read([delta({ content: 'a' }), error, tail]);
    assert.equal(end, 'error');
    assert.deepEqual(told, { code: 'failed_after_output', message: 'gone' });
  }
});

test('a seam is seen by its comment: with content before it, the stream was continued', () => {
  const seam = ': llamastead attempt=2 placement=cpu reason=reset\n\n';
  const { attempt, continued } = read([delta({ content: 'a' }), seam, delta({ content: 'b' })]);
  assert.deepEqual([attempt, continued], [2, true]);
  assert.equal(read([seam, delta({ content: 'b' })]).continued, false);
});

test('tool calls are counted by their index and id, not by their pieces', () => {
  assert.equal(read([call(0), call(0), call(0)]).toolCalls, 1);
  assert.equal(read([call(0), call(1)]).toolCalls, 2);
  assert.equal(read([call(0, 'a'), call(0), call(0, 'a')]).toolCalls, 1);
  assert.equal(read([call(0, 'a'), call(0), call(1, 'b'), call(1)]).toolCalls, 2);
});

test('a tool call that is made again begins with index 0 once more, and is seen by its id', () => {
  const again = read([call(0, 'a'), call(0), call(0, 'b'), call(0)]);
  assert.equal(again.toolCalls, 2);
});

test('an answer that is no stream is whole with status 200 and JSON, else an error or cut', () => {
  const whole = (status: number, text: string, ended = true) => {
    const reader = answerReader(status, false);
    reader.take(text);
    return reader.seen(ended);
  };
  const good = whole(
    200,
    '{"choices":[{"message":{"tool_calls":[{}]}}],"timings":{"predicted_per_second":9}}',
  );
  assert.deepEqual([good.end, good.toolCalls, good.speed], ['whole', 1, 9]);
  assert.equal(whole(200, '{"choices":[').end, 'cut');
  assert.equal(whole(200, '{}', false).end, 'cut');
  const bad = whole(400, '{"error":{"type":"exceed_context_size_error","message":"long"}}');
  assert.deepEqual([bad.end, bad.error?.code], ['error', 'exceed_context_size_error']);
  assert.equal(answerReader(400, true).take('{'), false);
});
