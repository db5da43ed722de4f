export interface Job {
  /** What no two at once may use; null: nothing. */
  readonly part: string | null;
  /** Nothing may run beside it. */
  readonly alone?: boolean;
}

/**
 * Runs all jobs, at most `width` at once and never two that need the same part; each as early as those before it
 * allow. Those that want to be alone come after all others.
 * @throws what a job throws
 */
export async function runInLanes<J extends Job>(
  jobs: readonly J[],
  width: number,
  run: (job: J) => Promise<void>,
): Promise<void> {
  const alone = (job: J) => job.alone === true;
  await sideBySide(
    jobs.filter((job) => !alone(job)),
    width,
    run,
  );
  for (const job of jobs.filter(alone)) await run(job);
}

async function sideBySide<J extends Job>(
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
