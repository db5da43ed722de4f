/**
 * The proof that an instance serves: `/health` says that the model is loaded, a tiny answer that the device
 * computes (a server whose GPU ran out of memory can still call itself healthy).
 */
import { Agent, request } from 'node:http';
import type { Task } from '../../core/types.ts';
import { AppError } from '../../errors.ts';
import type { Clock, InstanceAddress } from '../../ports.ts';
import { pause } from './pause.ts';

const OK = 200;
/** Of an error answer, bytes that are worth keeping. */
const KEPT = 2_000;

interface Ask {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: object;
}

/**
 * Resolves when both came. Rejects with AppError `proof_failed`, the connection's error, or the signal's
 * reason; has no deadline of its own.
 */
export async function proveReady(
  at: InstanceAddress,
  task: Task,
  clock: Clock,
  pollMs: number,
  signal: AbortSignal,
): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  try {
    while (!(await isHealthy(agent, at, signal))) {
      await pause(clock, pollMs, signal);
      signal.throwIfAborted();
    }
    const answer = await ask(agent, at, tinyRequest(task), signal);
    if (answer.status !== OK) {
      throw new AppError('proof_failed', `the first answer was HTTP ${answer.status}: ${answer.text}`);
    }
  } finally {
    agent.destroy();
  }
}

/** One token, one vector, one score. */
function tinyRequest(task: Task): Ask {
  switch (task) {
    case 'chat':
      return { method: 'POST', path: '/v1/completions', body: { prompt: 'Hi', max_tokens: 1 } };
    case 'embedding':
      return { method: 'POST', path: '/v1/embeddings', body: { input: 'Hi' } };
    case 'rerank':
      return { method: 'POST', path: '/v1/rerank', body: { query: 'Hi', documents: ['Hi'] } };
  }
}

async function isHealthy(agent: Agent, at: InstanceAddress, signal: AbortSignal): Promise<boolean> {
  try {
    return (await ask(agent, at, { method: 'GET', path: '/health' }, signal)).status === OK;
  } catch {
    signal.throwIfAborted();
    return false;
  }
}

function ask(
  agent: Agent,
  at: InstanceAddress,
  { method, path, body }: Ask,
  signal: AbortSignal,
): Promise<{ status: number; text: string }> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; text: string }>();
  const headers = { authorization: `Bearer ${at.key}`, 'content-type': 'application/json' };
  const asked = request({ host: at.host, port: at.port, method, path, headers, agent }, (answer) => {
    let text = '';
    answer.setEncoding('utf8');
    answer.on('data', (part: string) => {
      if (text.length < KEPT) text += part;
    });
    answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text: text.slice(0, KEPT) }));
    answer.on('error', reject);
  });
  asked.on('error', reject);
  const stop = () => {
    reject(signal.reason);
    asked.destroy();
  };
  signal.addEventListener('abort', stop, { once: true });
  asked.end(body === undefined ? undefined : JSON.stringify(body));
  return promise.finally(() => signal.removeEventListener('abort', stop));
}
