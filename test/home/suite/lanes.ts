/**
 * Runs all jobs, at most `width` at once and never two that need the same part; each as early as those before it
 * allow.
 * @throws what a job throws
 */
export async function runInLanes<J extends { readonly part: string | null }>(
  jobs: readonly J[],
  width: number,
  run: (job: J) => Promise<void>,
): Promise<void> {
  const waiting = [...jobs];
  const taken = new Set<string>();
  const running = new Set<Promise<void>>();
  const start = (job: J) => {
    if (job.part !== null) taken.add(job.part);
    const done = run(job).finally(() => {
      if (job.part !== null) taken.delete(job.part);
      running.delete(done);
    });
    running.add(done);
  };
  while (waiting.length > 0 || running.size > 0) {
    while (running.size < width) {
      const next = waiting.findIndex(({ part }) => part === null || !taken.has(part));
      if (next === -1) break;
      for (const job of waiting.splice(next, 1)) start(job);
    }
    await Promise.race(running);
  }
}
