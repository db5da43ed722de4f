import { StepFailure } from './failure.ts';

/** One thing that the bench needs. */
export interface Step<T> {
  name: string;
  /** What a person can do when it fails. */
  advice: string;
  /** Looks for what an earlier run left; undefined: it has to be made. */
  find: () => Promise<T | undefined>;
  make: (log: (line: string) => void) => Promise<T>;
}

/** Where progress goes; the clock in milliseconds is an argument for the tests' sake. */
export interface Progress {
  say: (line: string) => void;
  now: () => number;
  /** Called every few seconds while a step runs; returns how to stop it. */
  every: (call: () => void) => () => void;
}

export const silent: Progress = { say: () => {}, now: () => performance.now(), every: () => () => {} };

/** Progress on standard error, so that standard output stays free for what a command is asked for. */
export const onTerminal: Progress = {
  say: (line) => process.stderr.write(`${line}\n`),
  now: () => performance.now(),
  every: (call) => {
    const timer = setInterval(call, 10_000);
    return () => clearInterval(timer);
  },
};

/**
 * Finds what a step gives, or makes it, and tells how long that took.
 * @throws StepFailure
 */
export async function runStep<T>(step: Step<T>, progress: Progress): Promise<T> {
  const start = progress.now();
  const elapsed = () => `${((progress.now() - start) / 1000).toFixed(1)} s`;
  try {
    const found = await step.find();
    if (found !== undefined) {
      progress.say(`✓ ${step.name}: there (${elapsed()})`);
      return found;
    }
    progress.say(`… ${step.name}`);
    return await make(step, progress, elapsed);
  } catch (error) {
    if (error instanceof StepFailure) throw error;
    throw new StepFailure(step.name, step.advice, error);
  }
}

async function make<T>(step: Step<T>, progress: Progress, elapsed: () => string): Promise<T> {
  let lastLine = '';
  const stop = progress.every(() => progress.say(`… ${step.name}: ${elapsed()}  ${lastLine.slice(0, 80)}`));
  try {
    const made = await step.make((line) => {
      if (line.trim() !== '') lastLine = line.trim();
    });
    progress.say(`✓ ${step.name}: made (${elapsed()})`);
    return made;
  } finally {
    stop();
  }
}
