/** Failover to a CPU instance that is ready: how long until it has the request. */
import type { Samples } from '../measure/samples.ts';
import { quantile } from '../measure/statistics.ts';
import { type Directive, directiveText } from '../stub/directive.ts';
import { MODEL, type StubHome, startStubHome } from '../targets/home.ts';
import { followMarks } from './marks.ts';

const NAME = 'bench-warm';
/** The first-token deadline of a hang, ms. */
const DEADLINE_MS = 400;

/** Puts `failover warm p50 ms`, `p99 ms` and `failover hang late ms`. */
export async function measureWarm(image: string, trials: number, samples: Samples): Promise<void> {
  const home = await startStubHome(NAME, image, {
    model: { parallel: 4, idleUnload: 'never', cpu: { standby: 'warm' } },
    failover: { returnAfter: '100ms', firstToken: `${DEADLINE_MS}ms` },
  });
  try {
    await ask(home, { reset: 'gpu' });
    await home.controller.event('recovered');
    const resets: number[] = [];
    for (let i = 0; i < trials; i += 1) resets.push(await failover(home, 'reset', `reset-${i}`));
    samples.put('failover warm p50 ms', 'llamastead', quantile(resets, 0.5));
    samples.put('failover warm p99 ms', 'llamastead', quantile(resets, 0.99));
    const late: number[] = [];
    for (let i = 0; i < trials / 5; i += 1) {
      late.push((await failover(home, 'hang', `hang-${i}`)) - DEADLINE_MS);
    }
    samples.put('failover hang late ms', 'llamastead', quantile(late, 0.5));
  } finally {
    await home.controller.close();
  }
}

/** From the reset, or from the arrival of a request that hangs, to its arrival at the CPU, ms. */
async function failover(home: StubHome, how: 'reset' | 'hang', id: string): Promise<number> {
  const gpu = await followMarks(await home.upstream('gpu'));
  const cpu = await followMarks(await home.upstream('cpu'));
  // The deadline of a whole answer is longer by the time that its tokens take.
  await ask(home, { id, [how]: 'gpu' }, true);
  const failed = await gpu.of(how === 'reset' ? 'reset' : 'arrival', id);
  const arrived = await cpu.of('arrival', id);
  gpu.close();
  cpu.close();
  await home.controller.event('recovered');
  return arrived.at - failed.at;
}

/** Rejects where the answer is none. */
export async function ask(
  { controller }: Pick<StubHome, 'controller'>,
  directive: Partial<Directive>,
  stream = false,
): Promise<void> {
  const messages = [{ role: 'user', content: `Say hello. ${directiveText(directive)}` }];
  const body = { model: MODEL, max_tokens: 8, stream, messages };
  const answer = await controller.post('/v1/chat/completions', body);
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`the chat failed: ${answer.status} ${text}`);
}
