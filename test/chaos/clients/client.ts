/** One request over the wire, with all that came back. */
import { isUtf8 } from 'node:buffer';
import { type Agent, type IncomingMessage, request } from 'node:http';
import type { End, Transcript } from '../transcript.ts';
import type { Plan } from './kinds.ts';

/** A request that has not ended. */
export interface Live {
  readonly id: string;
  readonly plan: Plan;
  /** Milliseconds, as in the transcripts. */
  readonly sentAt: number;
  /** What came so far: bytes, and pieces of text. */
  bytes: number;
  pieces: number;
  /** It was continued by another attempt. */
  moved: boolean;
}

/** Longer than any answer takes, with its time in the queue and a second attempt. */
const LONGEST_MS = 300_000;
const PIECE = '"content":"';
const SEAM = ': llamastead attempt=';

export function live(id: string, plan: Plan): Live {
  return { id, plan, sentAt: performance.now(), bytes: 0, pieces: 0, moved: false };
}

/** Sends the request and stays until it ends, breaks, or its plan says to go. Never throws. */
export function send(url: string, one: Live, agent: Agent): Promise<Transcript> {
  const { id, plan, sentAt } = one;
  const headers = { 'content-type': 'application/json', 'x-request-id': id, ...plan.headers };
  const chunks: Buffer[] = [];
  let response: IncomingMessage | null = null;
  return new Promise((resolve) => {
    let timer: NodeJS.Timeout | undefined;
    const sending = request(`${url}${plan.path}`, { method: 'POST', headers, agent });
    const finish = (end: End): void => {
      clearTimeout(timer);
      clearTimeout(limit);
      if (end.kind === 'left' || end.kind === 'hung') sending.destroy();
      resolve({
        ...{ id, kind: plan.kind, path: plan.path, body: plan.body, headers: plan.headers },
        ...{ sentAt, endedAt: performance.now(), status: response?.statusCode ?? null },
        answerHeaders: flat(response),
        ...decoded(Buffer.concat(chunks)),
        end,
      });
    };
    const limit = setTimeout(() => finish({ kind: 'hung', seconds: LONGEST_MS / 1000 }), LONGEST_MS);
    const { leavesAfterMs } = plan;
    if (leavesAfterMs !== null) {
      timer = setTimeout(() => finish({ kind: 'left', why: `after ${leavesAfterMs} ms` }), leavesAfterMs);
    }
    sending.once('error', (error) => finish({ kind: 'broken', error: error.message }));
    sending.once('response', (answer) => {
      response = answer;
      answer.on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        one.bytes += chunk.length;
        const text = chunk.toString('latin1');
        one.pieces += text.split(PIECE).length - 1;
        one.moved ||= text.includes(SEAM);
        const why = wantsToGo(plan, chunks);
        if (why !== null) finish({ kind: 'left', why });
      });
      answer.once('end', () => finish({ kind: 'whole' }));
      answer.once('error', (error) => finish({ kind: 'broken', error: error.message }));
    });
    sending.end(JSON.stringify(plan.body));
  });
}

/** A client that leaves may have read half a character: that is its own doing and not judged. */
function decoded(bytes: Buffer): { raw: string; validUtf8: boolean } {
  return { raw: bytes.toString(), validUtf8: isUtf8(bytes) };
}

function wantsToGo({ leavesAfterBytes, leavesAtText }: Plan, chunks: readonly Buffer[]): string | null {
  if (leavesAfterBytes !== null) {
    const bytes = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
    if (bytes >= leavesAfterBytes) return `after ${bytes} bytes`;
  }
  if (leavesAtText !== null && Buffer.concat(chunks.slice(-2)).includes(leavesAtText)) return 'at the finish';
  return null;
}

function flat(response: IncomingMessage | null): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(response?.headers ?? {})) headers[name] = String(value);
  return headers;
}
