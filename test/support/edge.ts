/**
 * A real HTTP server on loopback over the fakes, and clients that can say what a browser or a program says.
 */
import { type IncomingHttpHeaders, type OutgoingHttpHeaders, request } from 'node:http';
import type { TestContext } from 'node:test';
import { createMetrics } from '../../app/adapters/http/metrics.ts';
import type { HttpServerOptions } from '../../app/adapters/http/options.ts';
import type { Security } from '../../app/adapters/http/security/guard.ts';
import { httpServer } from '../../app/adapters/http/server.ts';
import { manualClock } from './clock.ts';
import { homeView, memoryLog, memorySettings, recordingDrills, recordingGate } from './edge-fakes.ts';

export const OPEN: Security = { adminToken: null, apiKeys: [], allowedHosts: [] };

/** Starts a server that the end of the test closes. */
export async function startEdge(t: TestContext, change: Partial<HttpServerOptions> = {}) {
  const clock = manualClock();
  const events = memoryLog();
  const gate = recordingGate(homeView());
  const settings = memorySettings({
    'models.chat.mode': 'auto',
    'models.chat.keepLoaded': false,
    'memory.budget': 'auto',
    'failover.resume': 'same-file',
  });
  const drills = recordingDrills();
  const metrics = createMetrics({ gate, events });
  const logged: { readonly level: string; readonly fields: object; readonly message: string }[] = [];
  const write = (level: string) => (fields: object, message: string) =>
    void logged.push({ level, fields, message });
  const server = httpServer({
    listen: { host: '127.0.0.1', port: 0 },
    modelApi: (_req, res) => void res.end('a model answers'),
    gate,
    events,
    settings,
    drills,
    security: () => OPEN,
    access: { url: () => null, broker: () => null, brokerPassword: () => null },
    health: () => ({ alive: true, ready: true, reasons: [] }),
    metrics,
    webRoot: '/nonexistent',
    language: () => 'auto',
    clock,
    log: { warn: write('warn'), error: write('error') },
    ...change,
  });
  const { port } = await server.listen();
  t.after(async () => {
    const closed = server.close(0);
    clock.advance(1);
    await closed;
    metrics.close();
  });
  return { server, port, clock, events, gate, settings, drills, metrics, logged };
}

export interface Ask {
  readonly method?: string;
  readonly path: string;
  readonly headers?: OutgoingHttpHeaders;
  /** Sent as JSON, unless it is a string. */
  readonly body?: unknown;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly json: () => unknown;
}

/** One request on a connection of its own; unlike fetch it can name any Host and Origin. */
export async function ask(port: number, what: Ask): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const body =
    what.body === undefined || typeof what.body === 'string' ? what.body : JSON.stringify(what.body);
  const type = typeof what.body === 'object' ? { 'content-type': 'application/json' } : {};
  const chunked = what.headers?.['transfer-encoding'] === 'chunked';
  const length = body === undefined || chunked ? {} : { 'content-length': Buffer.byteLength(body) };
  const req = request({
    host: '127.0.0.1',
    port,
    path: what.path,
    method: what.method ?? 'GET',
    headers: { ...type, ...length, ...what.headers },
    agent: false,
  });
  req.on('error', reject);
  req.on('response', async (res) => {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of res) chunks.push(chunk);
    } catch (error) {
      reject(error);
      return;
    }
    const text = Buffer.concat(chunks).toString();
    resolve({ status: res.statusCode ?? 0, headers: res.headers, text, json: () => JSON.parse(text) });
  });
  req.end(body);
  return promise;
}

/** The `error` object of an answer of ours. */
export function errorOf(answer: Answer): Record<string, string> {
  const body = answer.json();
  if (typeof body !== 'object' || body === null || !('error' in body)) throw new Error(answer.text);
  return body.error as Record<string, string>;
}
