/**
 * A Docker engine on the wire: an HTTP server on a Unix socket that speaks the part of the Engine API that
 * Llamastead uses. Its llama-server containers are servers in this process, on loopback addresses.
 */
import { randomBytes, randomInt } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import type { FakeEngine } from './fake-engine.ts';
import { fakeEngine } from './fake-engine.ts';
import { answer } from './fake-routes.ts';

export interface FakeDockerOptions {
  readonly api?: string;
  readonly oldestApi?: string;
  /** Images that are there. */
  readonly images: readonly string[];
}

export interface FakeDocker {
  readonly socket: string;
  readonly engine: FakeEngine;
  /** Request lines as they came, `POST /v1.41/containers/create?name=x`. */
  readonly requests: readonly string[];
  /** Connections that asked for a session and are still open. */
  attached(): number;
  /** Request lines that fit wait for `release`. */
  delay: RegExp | null;
  release(): void;
  /** Request lines that fit get no answer: their connection breaks. */
  breaks: RegExp | null;
  /** Request lines that fit are refused with a 500. */
  refuses: RegExp | null;
  /** Resolves when the next request line that fits has come. */
  asked(line: RegExp): Promise<void>;
  /** Ends every open event stream, as a proxy or a restart does. */
  cutEvents(): void;
  /** The daemon goes away, its containers stay. */
  stop(): Promise<void>;
  start(): Promise<void>;
  close(): Promise<void>;
}

export async function fakeDocker(options: FakeDockerOptions): Promise<FakeDocker> {
  const folder = await mkdtemp(join(tmpdir(), 'fake-docker-'));
  const socket = join(folder, 'docker.sock');
  const loopback = `127.${randomInt(1, 255)}.${randomInt(256)}.${randomInt(1, 255)}`;
  const engine = fakeEngine({
    images: new Set(options.images),
    newId: () => randomBytes(32).toString('hex'),
    holderHost: loopback,
  });
  const versions = { ApiVersion: options.api ?? '1.41', MinAPIVersion: options.oldestApi ?? '1.12' };
  const requests: string[] = [];
  const waiting = new Map<RegExp, () => void>();
  const gate = Promise.withResolvers<void>();
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const line = `${request.method} ${request.url}`;
    requests.push(line);
    for (const [pattern, wake] of waiting) if (pattern.test(line)) wake();
    if (fake.breaks?.test(line) === true) {
      request.socket.destroy();
      return;
    }
    if (fake.refuses?.test(line) === true) {
      response.writeHead(500).end(JSON.stringify({ message: 'device or resource busy' }));
      return;
    }
    if (fake.delay?.test(line) === true) await gate.promise;
    answer(engine, versions, request, response).catch((error: unknown) => {
      response.writeHead(500).end(JSON.stringify({ message: String(error) }));
    });
  };
  let server: Server | undefined;
  /** Connections that are no longer HTTP's. */
  const taken = new Set<Duplex>();

  async function start(): Promise<void> {
    server = createServer((request, response) => void handle(request, response));
    server.on('upgrade', (request, socket) => {
      requests.push(`${request.method} ${request.url}`);
      if (!engine.sessions.attach(request, socket)) socket.destroy();
      else taken.add(socket.once('close', () => taken.delete(socket)));
    });
    const listening = Promise.withResolvers<void>();
    server.listen(socket, () => listening.resolve());
    await listening.promise;
  }

  async function stop(): Promise<void> {
    const closed = Promise.withResolvers<void>();
    server?.close(() => closed.resolve());
    server?.closeAllConnections();
    for (const socket of taken) socket.destroy();
    await closed.promise;
  }

  const fake: FakeDocker = {
    delay: null,
    breaks: null,
    refuses: null,
    release() {
      fake.delay = null;
      gate.resolve();
    },
    asked(line) {
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.set(line, resolve);
      return promise.finally(() => waiting.delete(line));
    },
    socket,
    engine,
    requests,
    attached: () => taken.size,
    cutEvents: engine.cutEvents,
    start,
    stop,
    async close() {
      await engine.killAll();
      await stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
  await start();
  return fake;
}
