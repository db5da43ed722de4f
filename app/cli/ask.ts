/** Asking a running controller: its admin API as the commands use it. */
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { z } from 'zod';
import { AppError } from '../errors.ts';

export interface AdminAnswer {
  readonly status: number;
  readonly body: unknown;
}

const ErrorBody = z.object({ error: z.object({ code: z.string(), message: z.string() }) });

/**
 * Waits for the answer however long it takes: a drill takes minutes. Rejects with AppError `unreachable`,
 * `unauthorized`, `not_llamastead`, or the controller's own code.
 */
export async function askAdmin(
  url: string,
  token: string | null,
  path: string,
  body?: object,
): Promise<unknown> {
  const { status, body: answer } = await send(new URL(path, url), token, body);
  if (status === 200) return answer;
  if (status === 401) throw new AppError('unauthorized', `${url} wants its admin token: give it by --token`);
  const error = ErrorBody.safeParse(answer);
  if (error.success) throw new AppError(error.data.error.code, error.data.error.message);
  throw new AppError('not_llamastead', `${url} answered ${status}, but not as Llamastead does`);
}

function send(target: URL, token: string | null, body: object | undefined): Promise<AdminAnswer> {
  const text = body === undefined ? '' : JSON.stringify(body);
  const request = target.protocol === 'https:' ? httpsRequest : httpRequest;
  const { promise, resolve, reject } = Promise.withResolvers<AdminAnswer>();
  const lost = (thrown: unknown): void =>
    reject(
      new AppError('unreachable', `nothing answers at ${target.origin}: is Llamastead running there?`, {
        cause: thrown,
      }),
    );
  const sent = request(target, {
    method: body === undefined ? 'GET' : 'POST',
    agent: false,
    headers: {
      ...(body === undefined
        ? {}
        : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
    },
  });
  sent.on('error', lost);
  sent.on('response', (response) => {
    const chunks: Buffer[] = [];
    response.on('data', (chunk: Buffer) => chunks.push(chunk));
    response.on('error', lost);
    response.on('end', () => {
      resolve({ status: response.statusCode ?? 0, body: parsed(Buffer.concat(chunks).toString()) });
    });
  });
  sent.end(text);
  return promise;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
