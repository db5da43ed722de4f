/** The checker of chaos finds an error where the replay table says that the request is tried again, or goes on. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { checkErrors } from '../../chaos/check/errors.ts';
import { checkGoesOn } from '../../chaos/check/goes-on.ts';
import { sentOf } from '../../chaos/check/sent.ts';
import type { Generation } from '../../chaos/logs/generations.ts';
import type { Transcript } from '../../chaos/transcript.ts';
import { transcriptOf } from './transcript.ts';

const sse = (data: unknown, event?: string) =>
  `${event === undefined ? '' : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`;
const chunk = (delta: object, finish_reason: string | null = null) =>
  sse({ choices: [{ index: 0, finish_reason, delta }] });
const ROLE = chunk({ role: 'assistant', content: null });
const TEXT = chunk({ content: '정원' });
const CALL = chunk({ tool_calls: [{ index: 0, id: 'a', function: { name: 'set_light' } }] });
const BODY = { model: 'chat', stream: true, top_k: 1_000_001 };

const failure = (code: string, message = 'The backend closed the connection.') => ({
  error: { message, type: 'server_error', code },
});
const streamed = (sent: string, code: string, message?: string) => sent + sse(failure(code, message));
const whole = (code: string, message?: string) => JSON.stringify(failure(code, message));

function judged(given: Partial<Transcript>, attempts = 1): { found: boolean; words: string } {
  const answerHeaders = { 'llamastead-attempts': String(attempts) };
  const transcript = transcriptOf({ body: BODY, answerHeaders, ...given });
  const table = checkErrors([transcript], {
    transcripts: [transcript],
    generations: [],
    strikes: [],
    told: [],
  });
  const [words = ''] = table.classes.keys();
  return { found: table.findings.length > 0, words };
}

describe('how much of an answer a client had', () => {
  const sent = (path: string, raw: string) => sentOf(transcriptOf({ path, raw }));
  const CHAT = '/v1/chat/completions';

  test('is nothing before the first content', () => {
    assert.equal(sent(CHAT, `: keepalive\n\n${ROLE}`), 'nothing');
    assert.equal(sent('/v1/messages', sse({}, 'message_start')), 'nothing');
    assert.equal(sent('/v1/responses', sse({}, 'response.created')), 'nothing');
    assert.equal(sent('/v1/completions', ''), 'nothing');
  });

  test('is text only of a chat that sent nothing else', () => {
    assert.equal(sent(CHAT, ROLE + TEXT), 'text');
    assert.equal(sent(CHAT, ROLE + CALL), 'more');
    assert.equal(sent(CHAT, ROLE + TEXT + chunk({}, 'length')), 'more');
    assert.equal(sent(CHAT, chunk({ reasoning_content: 'a' })), 'more');
    assert.equal(sent('/v1/messages', sse({}, 'content_block_delta')), 'more');
    assert.equal(sent('/v1/responses', sse({}, 'response.output_text.delta')), 'more');
    assert.equal(sent('/v1/completions', sse({ choices: [{ text: 'a' }] })), 'more');
  });
});

describe('a stream that goes on', () => {
  const SEAM = ': llamastead attempt=2 placement=cpu reason=reset\n\n';
  const found = (given: Partial<Transcript>) => checkGoesOn(transcriptOf({ body: BODY, ...given })).length;

  test('had nothing, or plain text, before its seam', () => {
    for (const before of ['', ROLE, ROLE + TEXT]) assert.equal(found({ raw: before + SEAM + TEXT }), 0);
    assert.equal(found({ raw: ROLE + CALL }), 0);
    assert.equal(found({ raw: ROLE + SEAM + CALL, body: { ...BODY, tools: [] } }), 0);
  });

  test('after anything else is found', () => {
    assert.equal(found({ raw: ROLE + CALL + SEAM + CALL }), 1);
    assert.equal(found({ raw: ROLE + TEXT + SEAM + TEXT, body: { ...BODY, tools: [] } }), 1);
    assert.equal(found({ raw: ROLE + TEXT + SEAM + TEXT, headers: { 'llamastead-replay': 'never' } }), 1);
    const raw = sse({ choices: [{ text: 'a' }] }) + SEAM;
    assert.equal(found({ path: '/v1/completions', raw }), 1);
  });
});

describe('an error', () => {
  test('after plain text and one attempt is none that the table knows: the text goes on', () => {
    assert.equal(judged({ raw: streamed(ROLE + TEXT, 'failed_after_output') }).found, true);
    assert.equal(judged({ raw: streamed(ROLE + TEXT, 'failed_after_output') }, 2).found, false);
  });

  test('after what can not go on is the end', () => {
    for (const sent of [CALL, TEXT + chunk({}, 'length')]) {
      assert.equal(judged({ raw: streamed(ROLE + sent, 'failed_after_output') }).found, false);
    }
    const raw = streamed(sse({ choices: [{ text: 'a' }] }), 'failed_after_output');
    assert.equal(judged({ path: '/v1/completions', raw }).found, false);
    const messages = sse({}, 'content_block_delta') + sse(failure('failed_after_output'), 'error');
    assert.match(
      judged({ path: '/v1/messages', raw: messages }).words,
      /^failed_after_output, \/v1\/messages/,
    );
    const responses =
      sse({}, 'response.output_text.delta') + sse({ code: 'failed_after_output', message: 'x' }, 'error');
    assert.match(judged({ path: '/v1/responses', raw: responses }).words, /^failed_after_output/);
  });

  test('before any output and after one attempt is none that the table knows: it is replayed', () => {
    assert.equal(judged({ raw: whole('backend_failed') }).found, true);
    assert.equal(judged({ raw: whole('backend_failed') }, 2).found, false);
    assert.equal(judged({ raw: whole('failed_after_output') }, 2).found, true);
    assert.equal(judged({ raw: streamed(TEXT, 'backend_failed') }, 2).found, true);
    const headers = { 'llamastead-replay': 'never' };
    assert.equal(judged({ raw: whole('backend_failed'), headers }).found, false);
  });

  test('for want of time or of a placement has to say so, and to be late', () => {
    const late = 'chat could not take the request within 30 s.';
    assert.equal(judged({ raw: whole('deadline', late), endedAt: 31_000 }).found, false);
    assert.equal(judged({ raw: whole('deadline', late), endedAt: 12_000 }).found, true);
    const first = transcriptOf({ body: BODY });
    const again = transcriptOf({ body: BODY, raw: whole('deadline', late), sentAt: 20_000, endedAt: 31_000 });
    const evidence = { transcripts: [first, again], generations: [], strikes: [], told: [] };
    assert.deepEqual(checkErrors([again], evidence).findings, [], 'the first one waited');
    const out = 'chat is out of service on gpu and cpu; tried again in 40 s.';
    assert.equal(judged({ raw: whole('capacity', out) }).found, false);
    assert.equal(judged({ raw: whole('capacity', 'chat is tired') }).found, true);
    const slow = 'The CPU would take about 6 s until the first word of chat.';
    assert.equal(judged({ raw: whole('capacity', slow) }).found, false);
    const away = `${out} The last failure: start_failed: connect ENOENT docker.sock`;
    assert.equal(judged({ raw: whole('backend_failed', away) }).found, true);
    const raw = streamed(TEXT, 'failed_after_output', late);
    assert.equal(judged({ raw, endedAt: 45_000 }).found, false);
  });

  test('of a request that ended two instances alone has two deaths that nobody else caused', () => {
    const told = (...ways: readonly string[]) => {
      const generations = ways.map(
        (_, index): Generation => ({
          ...{ container: `c${index}`, task: index, mark: 1_000_001, begunAt: index, end: null },
        }),
      );
      const strikes = ways.map((way, index) => ({
        ...{ fault: 'cut a text', hit: `c${index}, by ${way}`, from: 5 + index, to: 6 + index },
      }));
      const transcript = transcriptOf({ body: BODY, raw: whole('poison') });
      return checkErrors([transcript], { transcripts: [transcript], generations, strikes, told: [] });
    };
    assert.deepEqual(told('abort', 'abort').findings, []);
    assert.equal(told('abort', 'kill').findings.length, 1);
    assert.match([...told('abort', 'freeze').classes.keys()].join(), /abort, then freeze/);
  });

  test('of a kind that chaos does not ask for is found', () => {
    for (const code of ['400', 'queue_full', 'internal', 'mode_off']) {
      assert.equal(judged({ raw: whole(code) }).found, true, code);
    }
  });
});
