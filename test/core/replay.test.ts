import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Attempted, judge } from '../../app/core/replay.ts';
import type { Failure } from '../../app/core/request.ts';

const http = (status: number, message = ''): Failure => ({ kind: 'http', status, message });
const reset: Failure = { kind: 'reset', reused: false };
const stale: Failure = { kind: 'reset', reused: true };

const attempted = (failure: Failure, more: Partial<Attempted> = {}): Attempted => ({
  failure,
  forwarded: 'nothing',
  neverReplay: false,
  attempts: 1,
  aloneDeaths: 0,
  suspect: false,
  resumable: false,
  resuming: false,
  vramLow: false,
  ...more,
});

const rows: readonly [string, Attempted, string][] = [
  ['a stale reused connection goes again on the same instance', attempted(stale), 'again'],
  [
    'a stale connection after content is a failure',
    attempted(stale, { forwarded: 'content' }),
    'failed_after_output',
  ],
  ['a refused connection waits', attempted({ kind: 'refused' }), 'wait'],
  [
    'a refused connection waits, also with replay: never',
    attempted({ kind: 'refused' }, { neverReplay: true }),
    'wait',
  ],
  [
    'a loading model waits, even at the last attempt',
    attempted({ kind: 'loading' }, { attempts: 2 }),
    'wait',
  ],
  ['a reset with nothing forwarded is replayed', attempted(reset), 'replay'],
  ['a first-token deadline is replayed', attempted({ kind: 'first_token_deadline' }), 'replay'],
  [
    'a stall after plain text is resumed where it can be',
    attempted({ kind: 'stall' }, { forwarded: 'content', resumable: true }),
    'resume',
  ],
  [
    'a stall after plain text that cannot be resumed fails',
    attempted({ kind: 'stall' }, { forwarded: 'content' }),
    'failed_after_output',
  ],
  ['a frozen instance is replayed', attempted({ kind: 'frozen' }), 'replay'],
  [
    'a frozen instance after plain text is resumed where it can be',
    attempted({ kind: 'frozen' }, { forwarded: 'content', resumable: true }),
    'resume',
  ],
  [
    'a frozen instance after more than plain text fails',
    attempted({ kind: 'frozen' }, { forwarded: 'more', resumable: true }),
    'failed_after_output',
  ],
  [
    'a resume that fails has no second one',
    attempted(reset, { attempts: 2, forwarded: 'content', resumable: true, resuming: true }),
    'failed_after_output',
  ],
  [
    'a resume to an instance that is not reached waits',
    attempted({ kind: 'refused' }, { attempts: 2, forwarded: 'content', resuming: true }),
    'wait',
  ],
  [
    'a resume to a model that loads waits',
    attempted({ kind: 'loading' }, { attempts: 2, forwarded: 'content', resuming: true }),
    'wait',
  ],
  [
    'an error answer to a resume is not passed on: the client has text already',
    attempted(http(400, 'too long'), { attempts: 2, forwarded: 'content', resuming: true }),
    'failed_after_output',
  ],
  [
    'text that cannot be continued fails',
    attempted(
      { kind: 'not_resumable', why: 'it holds special tokens' },
      { attempts: 2, forwarded: 'content', resumable: true, resuming: true },
    ),
    'failed_after_output',
  ],
  [
    'replay: never is never resumed',
    attempted(reset, { neverReplay: true, forwarded: 'content', resumable: true }),
    'failed_after_output',
  ],
  ['a compute error is replayed', attempted(http(500, 'Compute error.')), 'replay'],
  [
    'a compute error after a tool call fails in the stream',
    attempted(http(500, 'Compute error.'), { forwarded: 'more', resumable: true }),
    'failed_after_output',
  ],
  ['an unknown server error is passed on', attempted(http(500, 'something')), 'pass_on'],
  [
    'an unknown server error while VRAM is low is replayed',
    attempted(http(500, 'something'), { vramLow: true }),
    'replay',
  ],
  ['another status is passed on', attempted(http(429, 'busy')), 'pass_on'],
  ['a refused key of ours is replayed', attempted(http(401)), 'replay'],
  ['400 is passed on', attempted(http(400)), 'pass_on'],
  ['404 is passed on', attempted(http(404)), 'pass_on'],
  ['413 is passed on', attempted(http(413)), 'pass_on'],
  ['422 is passed on', attempted(http(422)), 'pass_on'],
  ['501 is passed on', attempted(http(501)), 'pass_on'],
  [
    'an image to a text model is passed on though it is a 500',
    attempted(http(500, 'image input is not supported'), { vramLow: true }),
    'pass_on',
  ],
  ["the client's fault wins over replay: never", attempted(http(400), { neverReplay: true }), 'pass_on'],
  ['replay: never fails', attempted(reset, { neverReplay: true }), 'backend_failed'],
  ['replay: never wins over a stale connection', attempted(stale, { neverReplay: true }), 'backend_failed'],
  [
    'replay: never after output fails in the stream',
    attempted(reset, { neverReplay: true, forwarded: 'content' }),
    'failed_after_output',
  ],
  ['the second failure is the last', attempted(reset, { attempts: 2 }), 'backend_failed'],
  ['a suspect has a third attempt', attempted(reset, { attempts: 2, suspect: true }), 'replay'],
  ['a suspect has no fourth', attempted(reset, { attempts: 3, suspect: true }), 'backend_failed'],
  ['alone on two deaths is poison', attempted(reset, { attempts: 2, aloneDeaths: 2 }), 'poison'],
  ['poison wins over refused', attempted({ kind: 'refused' }, { aloneDeaths: 2 }), 'poison'],
  ['content without a recipe fails', attempted(reset, { forwarded: 'content' }), 'failed_after_output'],
  [
    'a tool call is never followed by another attempt',
    attempted(reset, { forwarded: 'more', resumable: true }),
    'failed_after_output',
  ],
];

describe('the replay table', () => {
  test('blames no instance that answered a resume with an error of the request', () => {
    const resume = { attempts: 2, forwarded: 'content', resuming: true } as const;
    const blameless = (failure: Failure) => {
      const verdict = judge(attempted(failure, resume));
      return verdict.do === 'fail' && verdict.blameless === true;
    };
    assert.equal(blameless({ kind: 'not_resumable', why: 'x' }), true);
    assert.equal(blameless(http(400, 'too long')), true);
    assert.equal(blameless(http(500, 'Compute error.')), false);
    assert.equal(blameless(http(401)), false);
    assert.equal(blameless(reset), false);
  });

  for (const [name, evidence, expected] of rows) {
    test(name, () => {
      const verdict = judge(evidence);
      assert.equal(verdict.do === 'fail' ? verdict.code : verdict.do, expected);
    });
  }
});
