/**
 * What the fake engine knows and does, apart from HTTP.
 */
import type { ServerResponse } from 'node:http';
import type { CreateBody, FakeContainer, ProgramEnd } from './fake-container.ts';
import { runProgram, startRefusal } from './fake-container.ts';
import { type FakeSessions, fakeSessions } from './fake-sessions.ts';

export interface FakeNetwork {
  readonly Id: string;
  readonly Name: string;
  readonly Labels: Readonly<Record<string, string>>;
}

export interface FakeEvent {
  readonly Type: 'container';
  readonly Action: string;
  readonly Actor: { readonly ID: string; readonly Attributes: Readonly<Record<string, string>> };
  readonly time: number;
  readonly timeNano: number;
}

/** An error answer of the engine. */
export class Refused extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export interface EventListener {
  readonly label: string | undefined;
  readonly response: ServerResponse;
}

export interface FakeEngine {
  readonly containers: Map<string, FakeContainer>;
  readonly networks: Map<string, FakeNetwork>;
  readonly sessions: FakeSessions;
  readonly history: readonly FakeEvent[];
  readonly listeners: Set<EventListener>;
  /** Removals never end. */
  removalHangs: boolean;
  /** So many pauses find a thread that is busy inside the kernel. */
  busyPauses: number;
  /** Names of containers that can't be started. */
  startFails: RegExp | null;
  create(name: string, body: CreateBody): FakeContainer;
  start(container: FakeContainer): void;
  /** SIGTERM ends a program at once, but not one of an image whose name has `busy`. */
  kill(container: FakeContainer, signal: string): Promise<void>;
  pause(container: FakeContainer): void;
  /** The program ends by itself, as after a crash. */
  crash(container: FakeContainer, exitCode: number): Promise<void>;
  remove(container: FakeContainer): Promise<void>;
  cutEvents(): void;
  killAll(): Promise<void>;
  addImage(image: string): void;
  hasImage(image: string): boolean;
}

export interface FakeEngineParts {
  readonly images: Set<string>;
  readonly newId: () => string;
  /** Address of every holder. */
  readonly holderHost: string;
}

const SIGNALS: Readonly<Record<string, string>> = { SIGTERM: '15', SIGKILL: '9' };

export function fakeEngine({ images, newId, holderHost }: FakeEngineParts): FakeEngine {
  const containers = new Map<string, FakeContainer>();
  const networks = new Map<string, FakeNetwork>();
  const sessions = fakeSessions();
  const history: FakeEvent[] = [];
  const listeners = new Set<EventListener>();

  function tell(container: FakeContainer, Action: string, more: Record<string, string> = {}): void {
    const { body, id, name } = container;
    const now = Date.now();
    const event: FakeEvent = {
      Type: 'container',
      Action,
      Actor: { ID: id, Attributes: { ...body.Labels, image: body.Image, name, ...more } },
      time: Math.floor(now / 1000),
      timeNano: now * 1e6 + history.length,
    };
    history.push(event);
    for (const { label, response } of listeners) {
      if (matches(event, label)) response.write(`${JSON.stringify(event)}\n`);
    }
  }

  async function end(container: FakeContainer, { exitCode, oom }: ProgramEnd): Promise<void> {
    if (container.status !== 'running' && container.status !== 'paused') return;
    container.status = 'exited';
    container.exitCode = exitCode;
    container.oomKilled = oom;
    await container.llama?.kill();
    container.llama = null;
    sessions.endIn(container.id);
    for (const follower of container.followers) follower.end();
    if (oom) tell(container, 'oom');
    tell(container, 'die', { exitCode: String(exitCode) });
    release(container, false);
  }

  function release(container: FakeContainer, isRemoved: boolean): void {
    for (const waiter of container.waiters) {
      if (waiter.removed && !isRemoved) continue;
      waiter.response.end(JSON.stringify({ StatusCode: container.exitCode }));
      container.waiters.delete(waiter);
    }
  }

  const engine: FakeEngine = {
    containers,
    networks,
    sessions,
    history,
    listeners,
    removalHangs: false,
    busyPauses: 0,
    startFails: null,
    create(name, body) {
      if (!images.has(body.Image)) throw new Refused(404, `No such image: ${body.Image}`);
      if ([...containers.values()].some((other) => other.name === name)) {
        throw new Refused(409, `Conflict. The container name "/${name}" is already in use`);
      }
      const network = body.HostConfig?.NetworkMode ?? 'bridge';
      const shared = network.startsWith('container:');
      const container: FakeContainer = {
        id: newId(),
        name,
        body,
        status: 'created',
        exitCode: 0,
        oomKilled: false,
        startedAt: '0001-01-01T00:00:00Z',
        error: '',
        log: [],
        followers: new Set(),
        waiters: new Set(),
        networks: new Map(shared ? [] : [[network, holderHost]]),
        llama: null,
      };
      containers.set(container.id, container);
      tell(container, 'create');
      return container;
    },
    start(container) {
      const fails = engine.startFails?.test(container.name) === true;
      const refusal = fails ? 'failed to create endpoint: no space left' : startRefusal(container.body);
      if (refusal !== null) {
        container.exitCode = 128;
        container.error = refusal;
        throw new Refused(500, refusal);
      }
      container.status = 'running';
      container.startedAt = new Date().toISOString();
      tell(container, 'start');
      runProgram(container, holderHost, (how) => void end(container, how));
    },
    async kill(container, signal) {
      if (container.status === 'exited' || container.status === 'created') {
        throw new Refused(409, `Container ${container.id} is not running`);
      }
      tell(container, 'kill', { signal: SIGNALS[signal] ?? signal });
      const deaf = container.body.Image.includes('busy') && signal !== 'SIGKILL';
      if (!deaf) await end(container, { exitCode: signal === 'SIGKILL' ? 137 : 0, oom: false });
    },
    pause(container) {
      if (container.status !== 'running') throw new Refused(409, `Container ${container.id} is not running`);
      if (engine.busyPauses > 0) {
        engine.busyPauses--;
        const why = 'OCI runtime pause failed: unable to freeze: unknown';
        throw new Refused(500, `Cannot pause container ${container.id}: ${why}`);
      }
      container.status = 'paused';
      container.llama?.pause();
      tell(container, 'pause');
    },
    crash: (container, exitCode) => end(container, { exitCode, oom: false }),
    async remove(container) {
      if (container.status === 'running' || container.status === 'paused')
        await engine.kill(container, 'SIGKILL');
      if (engine.removalHangs) {
        container.status = 'removing';
        throw new Refused(409, `removal of container ${container.id} is already in progress`);
      }
      containers.delete(container.id);
      tell(container, 'destroy');
      release(container, true);
    },
    cutEvents() {
      for (const { response } of listeners) response.destroy();
      listeners.clear();
    },
    addImage: (image) => images.add(image),
    hasImage: (image) => images.has(image),
    async killAll() {
      for (const container of containers.values()) await container.llama?.kill();
    },
  };
  return engine;
}

export function matches(event: FakeEvent, label: string | undefined): boolean {
  if (label === undefined) return true;
  const [name = '', value = ''] = label.split('=');
  return event.Actor.Attributes[name] === value;
}
