import { untilFrozen } from '../../app/adapters/docker/freeze.ts';
import { CommandFailure } from '../home/lib/failure.ts';

/** `docker pause`, by the given command; a busy machine may take more than one. */
export async function freeze(
  docker: (...args: string[]) => Promise<unknown>,
  container: string,
): Promise<void> {
  await untilFrozen(() =>
    docker('pause', container).catch((thrown: unknown) => {
      // The command's message says only how it ended.
      throw thrown instanceof CommandFailure ? new Error(thrown.lastOutput, { cause: thrown }) : thrown;
    }),
  );
}
