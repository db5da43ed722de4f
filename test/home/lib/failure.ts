/** A step of the bench that could not be done: what it was, the last lines it printed, and what to do. */
export class StepFailure extends Error {
  readonly step: string;
  readonly lastOutput: string;
  readonly advice: string;

  constructor(step: string, advice: string, cause: unknown) {
    super(`${step}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    this.step = step;
    this.advice = advice;
    this.lastOutput = cause instanceof CommandFailure ? cause.lastOutput : '';
  }
}

/** A program that ended with another exit code than 0, or could not be started. */
export class CommandFailure extends Error {
  readonly lastOutput: string;

  constructor(message: string, lastOutput: string) {
    super(message);
    this.lastOutput = lastOutput;
  }
}

/** A failure as a person reads it in the terminal. */
export function describeFailure(error: unknown): string {
  if (!(error instanceof StepFailure))
    return error instanceof Error ? (error.stack ?? error.message) : String(error);
  const output = error.lastOutput === '' ? '' : `\n  last output:\n${indent(error.lastOutput)}`;
  return `✗ ${error.message}${output}\n  what to do: ${error.advice}`;
}

function indent(text: string): string {
  return text
    .split('\n')
    .map((line) => `    ${line}`)
    .join('\n');
}
