/**
 * runc's words (1.1, cgroups of version 1) where some thread did not stop within its own tries, since it was inside
 * the kernel, as one that reads a file from a busy disk is. It thaws the container again, so that nothing is half done.
 */
const BUSY = /unable to freeze/;
const TRIES = 5;

/** Pauses a container, again where the engine found a thread busy. @throws what the last try threw */
export async function untilFrozen<T>(pause: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await pause();
    } catch (thrown) {
      if (tries === TRIES || !(thrown instanceof Error && BUSY.test(thrown.message))) throw thrown;
    }
  }
}
