/** Many streams at once, at the pace of a model that writes. */
import { chatRequest } from '../client/requests.ts';
import { cpuSeconds } from '../measure/process.ts';
import { median, quantile } from '../measure/statistics.ts';
import { connect, type Target } from '../targets/target.ts';
import { type Field, SEEDS } from './field.ts';

export interface StreamShape {
  readonly streams: number;
  /** Text events of each. */
  readonly chunks: number;
  /** Between two of them, ms. */
  readonly interval: number;
}

const US = 1e6;
const LF = 10;
/** Between the starts of two streams, ms: no herd. */
const STAGGER = 5;

/** Puts `streams pace` (1: the upstream's own), `streams gap p99 ms` and `streams CPU us` (an event). */
export async function streams(field: Field, target: Target, shape: StreamShape): Promise<void> {
  const { samples, expected } = field;
  const { chunks, interval } = shape;
  const gaps: number[] = [];
  const paces: number[] = [];
  let events = 0;
  async function one(index: number): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, index * STAGGER));
    const asked = { stream: true, chunks, seed: index % SEEDS };
    const request = chatRequest(target, { stream: true, directive: { chunks, interval, seed: asked.seed } });
    const connection = connect(target);
    const seen = eventTimes();
    const reply = await connection.send(request, seen.take);
    connection.close();
    if (!expected.check('streams', target, asked, reply)) return;
    events += seen.times.length;
    for (const [i, at] of seen.times.entries()) {
      const before = seen.times[i - 1];
      if (before !== undefined) gaps.push(at - before);
    }
    paces.push((chunks * interval) / (reply.endAt - reply.firstAt));
  }
  const cpuBefore = target.pid === null ? 0 : cpuSeconds(target.pid);
  await Promise.all(Array.from({ length: shape.streams }, (_, i) => one(i)));
  samples.put('streams pace', target.name, median(paces));
  samples.put('streams gap p99 ms', target.name, quantile(gaps, 0.99));
  if (target.pid !== null) {
    samples.put('streams CPU us', target.name, ((cpuSeconds(target.pid) - cpuBefore) / events) * US);
  }
}

/** The times at which events became whole: an event ends at an empty line. */
function eventTimes(): { readonly times: number[]; take(piece: Buffer, at: number): void } {
  const times: number[] = [];
  let lineEnded = false;
  return {
    times,
    take(piece, at) {
      for (const byte of piece) {
        if (byte === LF && lineEnded) times.push(at);
        lineEnded = byte === LF && !lineEnded;
      }
    },
  };
}
