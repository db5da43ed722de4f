/** The prompts that an instance reads at once: it reads one after the other, so each has to wait for the others. */
import type { Watch } from './watch.ts';

export interface PromptLoad {
  /** Of all attempts that wait for their first content, estimated. */
  tokens: number;
}

/** A prompt among them. */
export interface ReadPrompt {
  /** Tokens of the others. */
  ahead(): number;
  /** `deadlines`, told also here of the first content and of the end, after which it counts no longer. */
  until(deadlines: Watch): Watch;
}

/** It counts from now on. `tokens`: estimated. */
export function readPrompt(load: PromptLoad, tokens: number): ReadPrompt {
  let own = Math.ceil(tokens);
  load.tokens += own;

  function done(): void {
    load.tokens -= own;
    own = 0;
  }

  return {
    ahead: () => load.tokens - own,
    until: (deadlines) => ({
      ...deadlines,
      bytes(begun) {
        if (begun) done();
        deadlines.bytes(begun);
      },
      stop() {
        done();
        deadlines.stop();
      },
    }),
  };
}
