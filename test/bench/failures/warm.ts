/** Failover to a CPU instance that is ready: how long until it has the request. */
import type { Samples } from '../measure/samples.ts';
import { quantile } from '../measure/statistics.ts';
import { type Directive, directiveText } from '../stub/directive.ts';
import { MODEL, type StubHome, startStubHome } from '../targets/home.ts';
import { followMarks } from './marks.ts';

const NAME = 'bench-warm';
/** The first-token deadline of a hang, ms. */
const DEADLINE_MS = 400;

/** After each failure the GPU stays away twice as long, so a new controller begins after a few. */
const FAILURES_EACH = 5;

/** Puts `failover warm p50 ms`, `p99 ms` and `failover hang late ms`. */
export async function measureWarm(image: string, controllers: number, samples: Samples): Promise<void> {
  const resets: number[] = [];
  const late: number[] = [];
  for (let round = 0; round < controllers; round += 1) {
    const home = await startStubHome(NAME, image, {
      model: { parallel: 4, idleUnload: 'never', cpu: { standby: 'warm' } },
      failover: { returnAfter: '100ms', firstToken: `${DEADLINE_MS}ms` },
    });
    try {
      await ask(home, { reset: 'gpu' });
      for (let i = 0; i < FAILURES_EACH; i += 1) resets.push(await failover(home, 'reset', `reset-${i}`));
      late.push((await failover(home, 'hang', 'hang')) - DEADLINE_MS);
    } finally {
      await home.controller.close();
    }
  }
  samples.put('failover warm p50 ms', 'llamastead', quantile(resets, 0.5));
  samples.put('failover warm p99 ms', 'llamastead', quantile(resets, 0.99));
  samples.put('failover hang late ms', 'llamastead', quantile(late, 0.5));
}

/** From the reset, or from the arrival of a request that hangs, to its arrival at the CPU, ms. */
async function failover(home: StubHome, how: 'reset' | 'hang', id: string): Promise<number> {
  await home.controller.event('recovered');
  const gpu = await followMarks(await home.upstream('gpu'));
  const cpu = await followMarks(await home.upstream('cpu'));
  // The deadline of a whole answer is longer by the time that its tokens take.
  await ask(home, { id, [how]: 'gpu' }, true);
  const failed = await gpu.of(how === 'reset' ? 'reset' : 'arrival', id);
  const arrived = await cpu.of('arrival', id);
  gpu.close();
  cpu.close();
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
