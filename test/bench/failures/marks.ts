/** Follows what a stub tells of itself, in ms of the machine's monotonic clock. */
import { get, type IncomingMessage } from 'node:http';
import { createInterface } from 'node:readline';

export interface Mark {
  readonly what: 'arrival' | 'reset';
  readonly id: string;
  readonly placement: 'gpu' | 'cpu';
  readonly at: number;
}

export interface Marks {
  /** The mark, when it has come. */
  of(what: Mark['what'], id: string): Promise<Mark>;
  close(): void;
}

/** Now on the same clock. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

export async function followMarks(upstream: string): Promise<Marks> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const asked = get(`${upstream}/stub/marks`, resolve).on('error', reject);
  const answer = await promise;
  const came = new Map<string, Mark>();
  const waiting = new Map<string, (mark: Mark) => void>();
  // It ends with its container.
  answer.on('error', () => {});
  createInterface(answer)
    .on('line', (line) => {
      const mark = JSON.parse(line) as Mark;
      const key = `${mark.what} ${mark.id}`;
      came.set(key, mark);
      waiting.get(key)?.(mark);
    })
    .on('error', () => {});
  return {
    of(what, id) {
      const known = came.get(`${what} ${id}`);
      if (known !== undefined) return Promise.resolve(known);
      return new Promise((found) => waiting.set(`${what} ${id}`, found));
    },
    close: () => void asked.destroy(),
  };
}
