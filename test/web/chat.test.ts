import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Answer, endAnswer, newAnswer, rateOf, reduceAnswer } from '../../app/web/logic/chat.ts';
import { parseSse } from '../../app/web/logic/sse.ts';
import { errorOf } from '../../app/web/logic/told-error.ts';

/** Reads a stream whose lines come 100 ms apart. */
function read(stream: string): Answer {
  return parseSse(stream).items.reduce(
    (answer, item, i) => reduceAnswer(answer, item, 1000 + 100 * (i + 1)),
    newAnswer(1000),
  );
}
const delta = (fields: object, finish: string | null = null, more: object = {}): string =>
  `data: ${JSON.stringify({ choices: [{ delta: fields, finish_reason: finish }], ...more })}\n\n`;

describe('an answer', () => {
  it('grows by its pieces and ends with its mark', () => {
    const answer = read(
      `${delta({ role: 'assistant', content: null })}${delta({ content: 'Hel' })}${delta({ content: 'lo' })}${delta({}, 'stop')}data: [DONE]\n\n`,
    );
    assert.equal(answer.text, 'Hello');
    assert.equal(answer.state, 'done');
    assert.equal(answer.firstAt, 1200);
  });
  it('is as fast as the backend measured, else as its pieces came', () => {
    const pieces = `${delta({ content: 'a' })}${delta({ content: 'b' })}${delta({ content: 'c' })}`;
    assert.equal(rateOf(read(pieces)), 10);
    assert.equal(
      rateOf(read(`${pieces}${delta({}, 'stop', { timings: { predicted_per_second: 42.3 } })}`)),
      42.3,
    );
    assert.equal(rateOf(read(delta({ content: 'a' }))), null);
  });
  it('keeps thoughts apart from words', () => {
    const answer = read(`${delta({ reasoning_content: 'hm' })}${delta({ content: 'yes' })}`);
    assert.deepEqual([answer.thinking, answer.text], ['hm', 'yes']);
  });
  it('tells where it went on after a failure', () => {
    const answer = read(
      `${delta({ content: 'a' })}: llamastead attempt=2 placement=cpu reason=out_of_memory\n\n: ping\n\n`,
    );
    assert.deepEqual([answer.placement, answer.attempt], ['cpu', 2]);
  });
  it('is failed where an error comes, or where it ends without its end', () => {
    const broken = read(
      `${delta({ content: 'a' })}data: {"error":{"message":"No GPU","code":"failed_after_output"}}\n\n`,
    );
    assert.deepEqual([broken.state, broken.error?.message, broken.text], ['failed', 'No GPU', 'a']);
    assert.equal(endAnswer(read(delta({ content: 'a' }))).state, 'failed');
    assert.equal(endAnswer(read(`${delta({ content: 'a' })}${delta({}, 'stop')}`)).state, 'done');
    assert.equal(endAnswer(broken).error?.message, 'No GPU');
  });
  it('is not disturbed by what it does not know', () => {
    assert.equal(read('data: nonsense\n\ndata: null\n\ndata: {"choices":[]}\n\n').text, '');
  });
});

describe('an error body', () => {
  it("gives its code and message in OpenAI's form only", () => {
    assert.deepEqual(errorOf({ error: { message: 'Full', code: 'capacity' } }), {
      code: 'capacity',
      message: 'Full',
    });
    assert.deepEqual(errorOf({ error: { message: 'Full', code: 7 } }), { code: null, message: 'Full' });
    for (const body of [null, 'x', {}, { error: 'x' }, { error: {} }]) assert.equal(errorOf(body), null);
  });
});
