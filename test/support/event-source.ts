/**
 * A reader of server-sent events, as the HTML standard's EventSource parses them.
 */
import { type ClientRequest, type IncomingMessage, type OutgoingHttpHeaders, request } from 'node:http';

export interface Frame {
  readonly event: string;
  readonly id: string | null;
  readonly data: string;
  readonly comment: string | null;
}

export interface Reader {
  readonly status: number;
  readonly frames: Frame[];
  /** Resolves with the frames so far once `done` holds for them; rejects when the stream ends before. */
  until(done: (frames: readonly Frame[]) => boolean): Promise<readonly Frame[]>;
  readonly ended: Promise<void>;
  pause(): void;
  resume(): void;
  close(): void;
}

/** Connects; `headers` may hold Last-Event-ID or a cookie. */
export async function readEvents(
  port: number,
  path: string,
  headers: OutgoingHttpHeaders = {},
): Promise<Reader> {
  const req = request({ host: '127.0.0.1', port, path, headers, agent: false });
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  req.on('response', resolve);
  req.on('error', reject);
  req.end();
  return reader(req, await promise);
}

function reader(req: ClientRequest, res: IncomingMessage): Reader {
  const frames: Frame[] = [];
  const waiting = new Set<() => void>();
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  let over = false;
  let rest = '';
  res.setEncoding('utf8');
  res.on('data', (chunk: string) => {
    const parts = (rest + chunk).split('\n\n');
    rest = parts.pop() ?? '';
    frames.push(...parts.map(parse));
    for (const check of waiting) check();
  });
  const finish = (): void => {
    over = true;
    end();
    for (const check of waiting) check();
  };
  res.on('error', finish);
  res.on('close', finish);
  return {
    status: res.statusCode ?? 0,
    frames,
    until(done) {
      const { promise, resolve, reject } = Promise.withResolvers<readonly Frame[]>();
      const check = (): void => {
        if (done(frames)) resolve(frames);
        else if (over) reject(new Error(`the stream ended after ${JSON.stringify(frames)}`));
        else return;
        waiting.delete(check);
      };
      waiting.add(check);
      check();
      return promise;
    },
    ended,
    pause: () => void res.pause(),
    resume: () => void res.resume(),
    close: () => void req.destroy(),
  };
}

function parse(text: string): Frame {
  const lines = text.split('\n').map((line) => /^([^:]*)(?:: ?(.*))?$/.exec(line));
  const value = (name: string): string | null => lines.find((line) => line?.[1] === name)?.[2] ?? null;
  return {
    event: value('event') ?? 'message',
    id: value('id'),
    data: value('data') ?? '',
    comment: value(''),
  };
}
