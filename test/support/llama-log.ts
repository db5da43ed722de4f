/** What a llama-server's log says that it did, read when all that came before is in it. */
import { randomUUID } from 'node:crypto';
import { ask } from './raw-client.ts';
import { until } from './until.ts';

export interface LlamaLog {
  /** Such as `http://172.17.0.2:8080`. */
  readonly url: string;
  readonly key: string;
  /** All that it wrote so far. */
  read(): Promise<string>;
}

export interface Generations {
  /** Answers that it began to work on, its probes among them. */
  readonly begun: number;
  readonly ended: number;
}

/**
 * What it began and ended. A thread of its own writes llama-server's log, line after line, and Docker reads it: a
 * client has its answer before either is done. So a body that is no JSON is sent, and its complaint waited for.
 */
export async function generationsOf(log: LlamaLog): Promise<Generations> {
  const mark = `read-to-here-${randomUUID()}`;
  await ask(`${log.url}/tokenize`, `{"${mark}`, { Authorization: `Bearer ${log.key}` });
  let text = '';
  await until(async () => {
    text = await log.read();
    return text.includes(mark);
  });
  const told = (what: RegExp) => text.slice(0, text.indexOf(mark)).match(what)?.length ?? 0;
  return { begun: told(/processing task/g), ended: told(/stop processing/g) };
}
