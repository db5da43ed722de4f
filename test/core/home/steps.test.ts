import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CommandFailure, describeFailure, StepFailure } from '../../home/lib/failure.ts';
import { type Progress, runStep, type Step } from '../../home/lib/steps.ts';

function recorded(): Progress & { lines: string[]; beat: () => void; beating: () => boolean } {
  const lines: string[] = [];
  let beat: (() => void) | undefined;
  let ms = 0;
  return {
    lines,
    say: (line) => lines.push(line),
    now: () => {
      ms += 1500;
      return ms;
    },
    every: (call) => {
      beat = call;
      return () => {
        beat = undefined;
      };
    },
    beat: () => beat?.(),
    beating: () => beat !== undefined,
  };
}

const stepOf = (parts: Partial<Step<string>>): Step<string> => ({
  name: 'base image',
  advice: 'try again',
  find: async () => undefined,
  make: async () => 'made',
  ...parts,
});

test('a step whose result is there does nothing but say so', async () => {
  const progress = recorded();
  const make = () => assert.fail('must not be made again');
  assert.equal(await runStep(stepOf({ find: async () => 'found', make }), progress), 'found');
  assert.deepEqual(progress.lines, ['✓ base image: there (1.5 s)']);
});

test('a step that is made says how long it takes and its last line, and stops saying so at its end', async () => {
  const progress = recorded();
  const make = async (log: (line: string) => void) => {
    log('unpacking');
    log('  ');
    progress.beat();
    return 'made';
  };
  assert.equal(await runStep(stepOf({ make }), progress), 'made');
  assert.deepEqual(progress.lines, [
    '… base image',
    '… base image: 1.5 s  unpacking',
    '✓ base image: made (3.0 s)',
  ]);
  assert.equal(progress.beating(), false);
});

test('a failure names the step, its last output and what to do', async () => {
  const progress = recorded();
  const make = () => Promise.reject(new CommandFailure('debootstrap ended with exit code 1', 'E: no mirror'));
  const failure = await runStep(stepOf({ make }), progress).catch((error: unknown) => error);
  assert.ok(failure instanceof StepFailure);
  const text = describeFailure(failure);
  assert.match(text, /base image: debootstrap ended with exit code 1/);
  assert.match(text, /last output:\n {4}E: no mirror/);
  assert.match(text, /what to do: try again/);
  assert.equal(progress.beating(), false);
});

test('a failure of a step inside a step keeps its own name', async () => {
  const inner = new StepFailure('inner', 'mend it', new Error('broken'));
  const outer = runStep(stepOf({ make: () => Promise.reject(inner) }), recorded());
  await assert.rejects(outer, inner);
});
