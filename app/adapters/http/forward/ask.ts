/** Short questions to an instance about a text: answered whole, in JSON. */
import type { Failure } from '../../../core/request.ts';
import { type Json, parseObject } from './judge.ts';
import type { Lane } from './lane.ts';
import { errorReceiver, type Receiver } from './receiver.ts';

export type Asked =
  | { readonly ok: true; readonly json: Json }
  | { readonly ok: false; readonly failure: Failure };

const NO_ANSWER: Failure = { kind: 'reset', reused: false };
/** The tokens of a megabyte of text, as numbers. */
const MOST_BYTES = 16 * 1024 * 1024;

/** Never rejects. Once the lane is aborted it does not settle. */
export function ask(lane: Lane, path: string, body: Json | Buffer): Promise<Asked> {
  return new Promise((settle) => {
    const parts: Buffer[] = [];
    let size = 0;
    let error: Receiver | null = null;
    const fail = (failure: Failure) => settle({ ok: false, failure });

    lane.send(path, Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body)), {
      head({ status, contentType, retryAfter }) {
        if (status < 300) return;
        error = errorReceiver({ status, contentType: contentType ?? 'application/json', retryAfter });
      },
      data(chunk) {
        size += chunk.length;
        const failure = size > MOST_BYTES ? NO_ANSWER : (error?.data(chunk) ?? null);
        if (failure === null) parts.push(chunk);
        else {
          lane.abort();
          fail(failure);
        }
      },
      end() {
        const json = error === null ? parseObject(Buffer.concat(parts, size).toString('utf8')) : null;
        if (json === null) fail(error?.end() ?? NO_ANSWER);
        else settle({ ok: true, json });
      },
      broken: ({ sent }) => fail(sent ? NO_ANSWER : { kind: 'refused' }),
    });
  });
}
