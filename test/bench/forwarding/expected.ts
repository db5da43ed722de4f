/** What an answer must be: the bytes that the upstream gives for the same directive. */
import type { Reply } from '../client/connection.ts';
import { chatRequest } from '../client/requests.ts';
import type { Samples } from '../measure/samples.ts';
import { connect, type Target } from '../targets/target.ts';

export interface Asked {
  readonly stream: boolean;
  readonly chunks: number;
  readonly seed: number;
}

export interface Expected {
  /** Whether the answer is whole and right; counts it where it is not. */
  check(phase: string, target: Target, asked: Asked, reply: Reply): boolean;
}

/** Asks the upstream itself, once for each shape. */
export async function expectedFrom(
  upstream: Target,
  shapes: readonly Asked[],
  samples: Samples,
): Promise<Expected> {
  const bodies = new Map<string, Buffer>();
  const connection = connect(upstream);
  for (const shape of shapes) {
    const { stream, chunks, seed } = shape;
    const reply = await connection.send(chatRequest(upstream, { stream, directive: { chunks, seed } }));
    if (reply.status !== 200) {
      throw new Error(`${upstream.name} answered ${reply.status} ${reply.error ?? reply.body.toString()}`);
    }
    bodies.set(JSON.stringify(shape), reply.body);
  }
  connection.close();
  return {
    check(phase, target, asked, reply) {
      if (reply.error !== null || reply.status !== 200) {
        samples.fault(phase, target.name, reply.error ?? `status ${reply.status}`, excerpt(reply.body, 0));
        return false;
      }
      const wanted = bodies.get(JSON.stringify(asked)) ?? Buffer.alloc(0);
      if (wanted.equals(reply.body)) return true;
      const at = reply.body.findIndex((byte, i) => byte !== wanted[i]);
      samples.fault(phase, target.name, "bytes differ from the upstream's", excerpt(reply.body, at));
      return false;
    },
  };
}

function excerpt(body: Buffer, at: number): string {
  const from = at < 0 ? body.length : at;
  return `byte ${from} of ${body.length}: ${JSON.stringify(body.toString('utf8', from, from + 200))}`;
}
