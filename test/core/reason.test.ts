/** The reason of a failure, from what was seen of it: one row for each kind of evidence. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { convicts, isLasting, reasonOfExit, reasonOfFailure } from '../../app/core/reason.ts';
import type { Failure } from '../../app/core/request.ts';
import type { ExitEvidence, Reason } from '../../app/core/types.ts';
import { DEAD } from '../support/world.ts';

test('the socket alone tells', () => {
  const http = (status: number): Failure => ({ kind: 'http', status, message: '' });
  const ROWS: readonly [Failure, Reason][] = [
    [{ kind: 'refused' }, 'connection_lost'],
    [{ kind: 'loading' }, 'start_failed'],
    [{ kind: 'reset', reused: true }, 'reset'],
    [{ kind: 'first_token_deadline' }, 'hang'],
    [{ kind: 'stall' }, 'stall'],
    [http(500), 'compute_error'],
    [http(401), 'unknown'],
    [{ kind: 'not_resumable', why: 'so' }, 'unknown'],
  ];
  for (const [failure, reason] of ROWS) assert.equal(reasonOfFailure(failure), reason, failure.kind);
});

describe('the end of a container tells', () => {
  const GONE: ExitEvidence = { ...DEAD, exitCode: null };
  const NO_DRIVER = 'could not select device driver "nvidia"';
  const LAST = ['first words', 'last words'];
  const ROWS: readonly [string, Partial<ExitEvidence>, Reason | null, Reason, string | null][] = [
    [
      'its own limit',
      { oomKilled: true, killedOutside: true },
      'reset',
      'memory_limit',
      'killed by its own memory limit',
    ],
    ['a kill from outside', { killedOutside: true }, 'reset', 'killed_outside', null],
    [
      'an engine that was not there for a start',
      { engineAway: true, error: 'ENOENT' },
      null,
      'connection_lost',
      'ENOENT',
    ],
    [
      'nothing of an engine that is away now, when it ran',
      { engineAway: true },
      'reset',
      'exit',
      'exit code 139',
    ],
    ['a device that Docker misses', { error: NO_DRIVER }, null, 'device_missing', NO_DRIVER],
    [
      'a device that the program misses',
      { log: ['no usable GPU found', 'end'] },
      null,
      'device_missing',
      'no usable GPU found',
    ],
    [
      'memory that it did not get',
      { log: ['x', 'unable to allocate CUDA0 buffer'] },
      'reset',
      'out_of_memory',
      'unable to allocate CUDA0 buffer',
    ],
    [
      'a GPU that was lost',
      { log: ['vk::DeviceLostError: ErrorDeviceLost'] },
      'reset',
      'gpu_lost',
      'vk::DeviceLostError: ErrorDeviceLost',
    ],
    [
      'a file that is none',
      { log: ['error loading model: x'] },
      null,
      'load_failed',
      'error loading model: x',
    ],
    ['a start that failed by its last words', { log: LAST }, null, 'start_failed', 'last words'],
    ["a start that failed by Docker's words", { log: LAST, error: 'no' }, null, 'start_failed', 'no'],
    ['a start that failed without words', {}, null, 'start_failed', null],
    ['what was believed, while it runs', { running: true, error: 'busy' }, 'reset', 'reset', 'busy'],
    ['a hang that was ended', {}, 'hang', 'hang', null],
    ['a stall that was ended', {}, 'stall', 'stall', null],
    ['a pause that was ended', {}, 'paused', 'paused', null],
    ['an exit by its code', { exitCode: 1, log: LAST }, 'reset', 'exit', 'exit code 1'],
    ['an exit by its last words', { exitCode: null, log: LAST }, 'reset', 'exit', 'last words'],
  ];
  for (const [name, evidence, before, reason, detail] of ROWS) {
    test(name, () => {
      assert.deepEqual(reasonOfExit({ ...DEAD, ...evidence }, before), { reason, detail });
    });
  }

  test('nothing where nothing is known of it', () => {
    assert.deepEqual(reasonOfExit(GONE, 'reset'), { reason: 'exit', detail: null });
  });
});

const REASONS: readonly Reason[] = [
  'connection_lost',
  'start_failed',
  'load_failed',
  'device_missing',
  'does_not_fit',
  'reset',
  'hang',
  'stall',
  'exit',
  'out_of_memory',
  'memory_limit',
  'gpu_lost',
  'killed_outside',
];

test('what speaks against the model or the machine is lasting', () => {
  assert.deepEqual(REASONS.filter(isLasting), [
    'start_failed',
    'load_failed',
    'device_missing',
    'does_not_fit',
  ]);
});

describe('a request is convicted', () => {
  test('by an end of the program itself', () => {
    assert.deepEqual(
      REASONS.filter((reason) => convicts(reason, DEAD)),
      ['exit', 'out_of_memory', 'gpu_lost'],
    );
  });

  test('not by a kill, a limit, or an end that was never seen', () => {
    const NOT: readonly Partial<ExitEvidence>[] = [
      { running: true },
      { oomKilled: true },
      { killedOutside: true },
      { exitCode: null },
      { exitCode: 130 },
      { exitCode: 137 },
      { exitCode: 143 },
    ];
    for (const more of NOT) assert.equal(convicts('exit', { ...DEAD, ...more }), false, JSON.stringify(more));
  });
});
