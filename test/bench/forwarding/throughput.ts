/** Small completions as fast as they go, over a number of connections. */
import { chatRequest } from '../client/requests.ts';
import { cpuSeconds } from '../measure/process.ts';
import { quantile } from '../measure/statistics.ts';
import { connect, type Target } from '../targets/target.ts';
import { type Field, SEEDS, SMALL } from './field.ts';

const US = 1e6;
const MS_A_SECOND = 1_000;

/** Puts `small N requests/s`, `small N p99 ms` and, where the process is known, `small N CPU us`. */
export async function throughput(
  field: Field,
  target: Target,
  connections: number,
  ms: number,
): Promise<void> {
  const { samples } = field;
  const name = `small ${connections}`;
  const cpuBefore = target.pid === null ? 0 : cpuSeconds(target.pid);
  const start = performance.now();
  const times = await hammer(field, target, connections, ms);
  const seconds = (performance.now() - start) / MS_A_SECOND;
  samples.put(`${name} requests/s`, target.name, times.length / seconds);
  samples.put(`${name} p99 ms`, target.name, quantile(times, 0.99));
  if (target.pid !== null) {
    samples.put(`${name} CPU us`, target.name, ((cpuSeconds(target.pid) - cpuBefore) / times.length) * US);
  }
}

/** Sends for `ms`; resolves to the times of the right answers, ms. */
export async function hammer(
  { expected }: Pick<Field, 'expected'>,
  target: Target,
  connections: number,
  ms: number,
): Promise<number[]> {
  const times: number[] = [];
  const end = performance.now() + ms;
  async function send(first: number): Promise<void> {
    const connection = connect(target);
    for (let i = first; performance.now() < end; i += 1) {
      const asked = { stream: false, chunks: SMALL, seed: i % SEEDS };
      const request = chatRequest(target, { stream: false, directive: { chunks: SMALL, seed: asked.seed } });
      const reply = await connection.send(request);
      if (expected.check(`small ${connections}`, target, asked, reply))
        times.push(reply.endAt - reply.sentAt);
      // Something is broken: no spinning on it.
      else await new Promise((resolve) => setTimeout(resolve, 5));
    }
    connection.close();
  }
  await Promise.all(Array.from({ length: connections }, (_, i) => send(i)));
  return times;
}
