/** A model API whose answers a test writes piece by piece. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ModelHandler } from '../../../app/adapters/http/server.ts';

export interface ScriptedAnswer {
  readonly requestId: string;
  readonly body: unknown;
  /** Sends the head of a stream. */
  head(placement: string, attempts?: number): void;
  say(text: string): void;
  comment(text: string): void;
  /** Finish reason, the backend's own speed, end mark. */
  finish(tokensPerSecond?: number): void;
  fail(status: number, message: string): void;
  /** Ends without an end mark, as a broken backend. */
  breakOff(): void;
  /** Resolves when the client is gone. */
  readonly gone: Promise<void>;
}

export interface ScriptedChat {
  readonly handler: ModelHandler;
  /** The next request, as soon as it is there. */
  next(): Promise<ScriptedAnswer>;
}

export function scriptedChat(): ScriptedChat {
  const waiting: ScriptedAnswer[] = [];
  const takers: ((answer: ScriptedAnswer) => void)[] = [];
  return {
    handler(req, res, next) {
      if (req.url !== '/v1/chat/completions') return next();
      void readBody(req).then((body) => {
        const answer = scripted(req, res, body);
        const taker = takers.shift();
        if (taker === undefined) waiting.push(answer);
        else taker(answer);
      });
    },
    next() {
      const ready = waiting.shift();
      return ready === undefined ? new Promise((resolve) => takers.push(resolve)) : Promise.resolve(ready);
    },
  };
}

async function readBody(req: IncomingMessage): Promise<unknown> {
  let text = '';
  for await (const piece of req) text += String(piece);
  return JSON.parse(text);
}

function scripted(req: IncomingMessage, res: ServerResponse, body: unknown): ScriptedAnswer {
  const send = (data: unknown): void => void res.write(`data: ${JSON.stringify(data)}\n\n`);
  const delta = (fields: object, finish: string | null): object => ({
    choices: [{ index: 0, delta: fields, finish_reason: finish }],
  });
  return {
    requestId: String(req.headers['x-request-id'] ?? ''),
    body,
    head(placement, attempts = 1) {
      res.writeHead(200, {
        'content-type': 'text/event-stream',
        'llamastead-placement': placement,
        'llamastead-attempts': String(attempts),
      });
    },
    say: (text) => send(delta({ content: text }, null)),
    comment: (text) => void res.write(`: ${text}\n\n`),
    finish(tokensPerSecond) {
      const timings =
        tokensPerSecond === undefined ? {} : { timings: { predicted_per_second: tokensPerSecond } };
      send({ ...delta({}, 'stop'), ...timings });
      res.end('data: [DONE]\n\n');
    },
    fail(status, message) {
      res.writeHead(status, { 'content-type': 'application/json' });
      res.end(JSON.stringify({ error: { message, type: 'server_error', code: 'capacity' } }));
    },
    breakOff: () => void res.end(),
    gone: new Promise((resolve) => res.once('close', resolve)),
  };
}
