/** One connection, one request at a time; the targets take turns request by request. */
import { chatRequest } from '../client/requests.ts';
import { quantile } from '../measure/statistics.ts';
import { connect } from '../targets/target.ts';
import { type Field, SEEDS } from './field.ts';

export interface Sequence {
  readonly name: string;
  readonly count: number;
  readonly stream: boolean;
  /** Text events of a stream. */
  readonly chunks: number;
  readonly pictureBytes: number;
  /** From the request to the answer's first byte, not to its end. */
  readonly firstByte: boolean;
}

const WARM_UP = 5;

/** Puts `NAME p50 ms` and `NAME p99 ms`. */
export async function sequential({ targets, samples, expected }: Field, sequence: Sequence): Promise<void> {
  const { name, count, stream, chunks, pictureBytes, firstByte } = sequence;
  const lanes = targets.map((target) => ({ target, connection: connect(target), times: [] as number[] }));
  for (let i = 0; i < count + WARM_UP; i += 1) {
    const seed = i % SEEDS;
    for (let turn = 0; turn < lanes.length; turn += 1) {
      const lane = lanes[(turn + i) % lanes.length];
      if (lane === undefined) continue;
      const request = chatRequest(lane.target, { stream, directive: { chunks, seed }, pictureBytes });
      const reply = await lane.connection.send(request);
      if (!expected.check(name, lane.target, { stream, chunks, seed }, reply) || i < WARM_UP) continue;
      lane.times.push((firstByte ? reply.firstAt : reply.endAt) - reply.sentAt);
    }
  }
  for (const { target, connection, times } of lanes) {
    connection.close();
    samples.put(`${name} p50 ms`, target.name, quantile(times, 0.5));
    samples.put(`${name} p99 ms`, target.name, quantile(times, 0.99));
  }
}
