/**
 * The fake engine's HTTP answers, by method and path, with or without a version in front.
 */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { z } from 'zod';
import type { FakeContainer } from './fake-container.ts';
import { CreateBody, frame } from './fake-container.ts';
import type { FakeEngine } from './fake-engine.ts';
import { matches, Refused } from './fake-engine.ts';

interface Call {
  readonly engine: FakeEngine;
  readonly query: URLSearchParams;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The path's parts that the pattern names. */
  readonly name: string;
}

type Route = readonly [method: string, path: RegExp, run: (call: Call) => unknown];

const ROUTES: readonly Route[] = [
  ['GET', /^\/info$/, () => ({ CgroupVersion: '1', Warnings: null })],
  ['GET', /^\/events$/, events],
  ['GET', /^\/containers\/json$/, list],
  ['POST', /^\/containers\/create$/, create],
  ['GET', /^\/containers\/(\w+)\/json$/, (call) => inspect(found(call), call.engine)],
  ['POST', /^\/containers\/(\w+)\/start$/, (call) => call.engine.start(found(call))],
  ['POST', /^\/containers\/(\w+)\/kill$/, (call) => call.engine.kill(found(call), signal(call.query))],
  ['POST', /^\/containers\/(\w+)\/stop$/, (call) => call.engine.kill(found(call), 'SIGTERM')],
  ['POST', /^\/containers\/(\w+)\/pause$/, (call) => call.engine.pause(found(call))],
  ['POST', /^\/containers\/(\w+)\/update$/, update],
  ['POST', /^\/containers\/(\w+)\/wait$/, wait],
  ['DELETE', /^\/containers\/(\w+)$/, (call) => call.engine.remove(found(call))],
  ['GET', /^\/containers\/(\w+)\/logs$/, logs],
  [
    'GET',
    /^\/containers\/(\w+)\/stats$/,
    () => ({ memory_stats: { usage: 5e6, stats: { inactive_file: 1e6 } } }),
  ],
  ['POST', /^\/containers\/(\w+)\/exec$/, makeSession],
  ['GET', /^\/exec\/(\w+)\/json$/, inspectSession],
  ['GET', /^\/images\/(.+)\/json$/, image],
  ['GET', /^\/networks$/, (call) => [...call.engine.networks.values()]],
  ['POST', /^\/networks\/create$/, createNetwork],
  ['POST', /^\/networks\/([\w-]+)\/connect$/, connect],
  ['DELETE', /^\/networks\/([\w-]+)$/, (call) => call.engine.networks.delete(call.name)],
];

export async function answer(
  engine: FakeEngine,
  versions: object,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://docker');
  const path = url.pathname.replace(/^\/v\d+\.\d+/, '');
  if (path === '/version') return send(response, 200, versions);
  for (const [method, pattern, run] of ROUTES) {
    const match = method === request.method ? pattern.exec(path) : null;
    if (match === null) continue;
    try {
      const call = { engine, query: url.searchParams, request, response, name: match[1] ?? '' };
      const result = await run(call);
      if (result === STREAM) return;
      return send(response, result === undefined || result === true ? 204 : 200, result);
    } catch (error) {
      if (error instanceof Refused) return send(response, error.status, { message: error.message });
      throw error;
    }
  }
  send(response, 404, { message: `page not found: ${request.method} ${path}` });
}

/** The route answers by itself. */
const STREAM = Symbol('stream');

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(status === 204 ? undefined : JSON.stringify(body));
}

function found({ engine, name }: Call): FakeContainer {
  const container = engine.containers.get(name);
  if (container === undefined) throw new Refused(404, `No such container: ${name}`);
  return container;
}

function signal(query: URLSearchParams): string {
  return query.get('signal') ?? 'SIGKILL';
}

async function create({ engine, query, request }: Call): Promise<object> {
  const body = CreateBody.parse(await json(request));
  return { Id: engine.create(query.get('name') ?? randomBytes(6).toString('hex'), body).id, Warnings: [] };
}

function image({ engine, name }: Call): object {
  if (!engine.hasImage(name)) throw new Refused(404, `No such image: ${name}`);
  return { Id: name };
}

function labelsAsked(query: URLSearchParams): readonly string[] {
  const Filters = z.object({ label: z.array(z.string()).optional() });
  return Filters.parse(JSON.parse(query.get('filters') ?? '{}')).label ?? [];
}

function list({ engine, query }: Call): object[] {
  const asked = labelsAsked(query);
  const all = query.get('all') === 'true';
  return [...engine.containers.values()]
    .filter(({ status }) => all || status === 'running' || status === 'paused')
    .filter(({ body }) =>
      asked.every((label) => {
        const [name = '', value = ''] = label.split('=');
        return body.Labels?.[name] === value;
      }),
    )
    .map(({ id, name, body, status }) => ({
      Id: id,
      Names: [`/${name}`],
      Labels: body.Labels ?? null,
      State: status,
      HostConfig: { NetworkMode: body.HostConfig?.NetworkMode ?? 'default' },
    }));
}

function inspect(container: FakeContainer, engine: FakeEngine): object {
  const { id, name, body, status, exitCode, oomKilled, error, networks, startedAt } = container;
  const State = {
    Status: status,
    Running: status === 'running' || status === 'paused',
    Paused: status === 'paused',
    OOMKilled: oomKilled,
    ExitCode: exitCode,
    Error: error,
    StartedAt: startedAt,
  };
  const Networks: Record<string, { IPAddress: string }> = {};
  for (const [network, IPAddress] of networks) {
    Networks[network] = { IPAddress: State.Running ? IPAddress : '' };
  }
  return {
    Id: id,
    Name: `/${name}`,
    Config: { Labels: body.Labels ?? {}, Env: body.Env ?? null },
    State,
    HostConfig: { NetworkMode: 'default', ...body.HostConfig },
    NetworkSettings: { Networks },
    ExecIDs: engine.sessions.inside(id),
    Mounts: body['FakeMounts'] ?? [],
  };
}

async function update(call: Call): Promise<object> {
  const { Memory } = z.object({ Memory: z.number() }).parse(await json(call.request));
  const { body } = found(call);
  body.HostConfig = { ...body.HostConfig, Memory };
  return { Warnings: [] };
}

async function makeSession(call: Call): Promise<object> {
  const { Cmd } = z.object({ Cmd: z.array(z.string()) }).parse(await json(call.request));
  return { Id: call.engine.sessions.make(found(call).id, Cmd).id };
}

function inspectSession({ engine, name }: Call): object {
  const session = engine.sessions.get(name);
  if (session === undefined) throw new Refused(404, `No such exec instance: ${name}`);
  const [entrypoint, ...rest] = session.command;
  return { ID: name, Running: session.socket !== null, ProcessConfig: { entrypoint, arguments: rest } };
}

function logs(call: Call): unknown {
  const { query, response } = call;
  const container = found(call);
  const tail = Number(query.get('tail') ?? Number.NaN);
  const lines = Number.isNaN(tail) ? container.log : container.log.slice(-tail);
  response.writeHead(200, { 'content-type': 'application/vnd.docker.raw-stream' });
  response.flushHeaders();
  for (const line of lines) response.write(frame(line));
  if (query.get('follow') !== 'true' || container.status === 'exited') response.end();
  else {
    container.followers.add(response);
    response.on('close', () => container.followers.delete(response));
  }
  return STREAM;
}

function wait(call: Call): unknown {
  const { query, response } = call;
  const container = found(call);
  const removed = query.get('condition') === 'removed';
  if (!removed && (container.status === 'exited' || container.status === 'created')) {
    return { StatusCode: container.exitCode };
  }
  const waiter = { response, removed };
  container.waiters.add(waiter);
  response.on('close', () => container.waiters.delete(waiter));
  response.writeHead(200, { 'content-type': 'application/json' });
  response.flushHeaders();
  return STREAM;
}

function events({ engine, query, response }: Call): unknown {
  const [label] = labelsAsked(query);
  const listener = { label, response };
  response.writeHead(200, { 'content-type': 'application/json' });
  response.flushHeaders();
  const since = query.get('since');
  for (const event of engine.history) {
    const isPast = since !== null && event.timeNano >= Number(since) * 1e9;
    if (isPast && matches(event, label)) response.write(`${JSON.stringify(event)}\n`);
  }
  engine.listeners.add(listener);
  response.on('close', () => engine.listeners.delete(listener));
  return STREAM;
}

async function createNetwork({ engine, request }: Call): Promise<object> {
  const Body = z.object({ Name: z.string(), Labels: z.record(z.string(), z.string()).optional() });
  const { Name, Labels } = Body.parse(await json(request));
  if (engine.networks.has(Name)) throw new Refused(409, `network with name ${Name} already exists`);
  engine.networks.set(Name, { Id: Name, Name, Labels: Labels ?? {} });
  return { Id: Name };
}

/** Docker answers 200 with an empty body. */
async function connect({ engine, request, name }: Call): Promise<object> {
  const { Container } = z.object({ Container: z.string() }).parse(await json(request));
  engine.containers.get(Container)?.networks.set(name, '127.0.0.1');
  return {};
}
