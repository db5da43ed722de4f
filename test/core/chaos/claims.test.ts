/** The checker of chaos finds a text that is not what its placement says. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { claimsOf, judge } from '../../chaos/check/claims.ts';
import { transcriptOf } from './transcript.ts';

const delta = (content: string) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, finish_reason: null, delta: { content } }] })}\n\n`;
const seam = (attempt: number, placement: string) =>
  `: llamastead attempt=${attempt} placement=${placement} reason=reset\n\n`;
const DONE = 'data: [DONE]\n\n';

const transcript = (raw: string, placement?: string) =>
  transcriptOf({
    ...{ kind: 'story', body: { model: 'single' }, raw },
    answerHeaders: placement === undefined ? {} : { 'llamastead-placement': placement },
  });

const told = (raw: string, placement?: string) =>
  claimsOf(transcript(raw, placement)).map(({ placement, before, text, last }) => ({
    placement,
    before,
    text,
    last,
  }));

test('a text belongs to the placements that sent it', () => {
  const raw = `${delta('정원')}${delta(' a')}${seam(2, 'cpu')}${delta(' b')}${delta('🦙')}${DONE}`;
  assert.deepEqual(told(raw, 'gpu'), [
    { placement: 'gpu', before: '', text: '정원 a', last: false },
    { placement: 'cpu', before: '정원 a', text: ' b🦙', last: true },
  ]);
});

test('a text that was cut twice, or ends with an error, is compared as far as it came', () => {
  const raw = `${delta('a')}${seam(2, 'cpu')}${delta('b')}${seam(3, 'gpu')}${delta('c')}data: {"error":{}}\n\n`;
  assert.deepEqual(
    told(raw, 'gpu').map(({ before, last }) => [before, last]),
    [
      ['', false],
      ['a', false],
      ['ab', false],
    ],
  );
});

test('what follows a head that went out early is compared from its first seam on', () => {
  const raw = `${delta('a')}${seam(2, 'cpu')}${delta('b')}${DONE}`;
  assert.deepEqual(
    told(raw).map(({ placement }) => placement),
    ['cpu'],
  );
});

test('only a chat has a text that goes on', () => {
  const raw = `data: {"choices":[{"text":"a"}]}\n\n${seam(2, 'cpu')}data: {"choices":[{"text":"b"}]}\n\n`;
  assert.deepEqual(claimsOf({ ...transcript(raw, 'gpu'), path: '/v1/completions' }), []);
});

test('a change of the placement before any text is no seam', () => {
  assert.deepEqual(told(`: llamastead queue position=1\n\n${seam(2, 'cpu')}${delta('a')}${DONE}`, 'gpu'), []);
});

test('another text than the placement would have said is found, and where it begins', () => {
  const claims = claimsOf(transcript(`${delta('a')}${seam(2, 'cpu')}${delta('bcd')}${DONE}`, 'gpu'));
  const [begin, rest] = claims;
  assert.ok(begin !== undefined && rest !== undefined);
  assert.deepEqual(judge(begin, 'a and more'), []);
  assert.match(judge(begin, 'b')[0]?.rule ?? '', /before a seam/);
  assert.deepEqual(judge(rest, 'bcd'), []);
  assert.match(judge(rest, 'bxd')[0]?.what ?? '', /from character 0: "bcd", not "bxd"/);
  assert.equal(judge(rest, 'bcde').length, 1, 'a text that ended too early');
  assert.equal(judge(rest, 'bc').length, 1, 'a text that went on too long');
  assert.deepEqual(judge({ ...rest, last: false }, 'bcde'), []);
});
