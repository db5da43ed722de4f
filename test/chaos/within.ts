/** Waits with an end: a run that hangs says nothing. */

/**
 * @param what names the work, for the person who reads the failure
 * @param unfinished what is still open, asked when the time is over
 * @throws Error that says what did not end, and what is unfinished
 */
export async function within<T>(
  ms: number,
  what: string,
  work: Promise<T>,
  unfinished: () => string = () => '',
): Promise<T> {
  const over = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const left = unfinished();
    over.reject(
      new Error(`${what}: not done within ${Math.round(ms / 1000)} s${left === '' ? '' : `\n${left}`}`),
    );
  }, ms);
  try {
    return await Promise.race([work, over.promise]);
  } finally {
    clearTimeout(timer);
  }
}
