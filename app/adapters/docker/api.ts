/**
 * The part of Docker's API that is only read: typed, bounded in time, errors in our words. What changes
 * anything is in guarded.ts.
 */
import './spare.ts';
import type { Readable } from 'node:stream';
import Docker from 'dockerode';
import { z } from 'zod';
import { AppError } from '../../errors.ts';
import type { Clock } from '../../ports.ts';
import { compareVersions, negotiated } from './api-version.ts';
import { dockerError, isTimeOut, noAnswer, refusedWith } from './docker-error.ts';
import {
  InfoAnswer,
  InspectedContainer,
  InspectedSession,
  ListedContainer,
  ListedNetwork,
  StatsAnswer,
  VersionAnswer,
} from './schemas.ts';

export interface EngineFacts {
  readonly api: string;
  /** A folder of a volume can be mounted (API 1.45). */
  readonly subpath: boolean;
  /** Block I/O can be weighed. */
  readonly ioWeight: boolean;
}

export interface DockerApi {
  /** Agrees on a version; throws `docker_unreachable`, `docker_refused`, `docker_too_old`. */
  connect(): Promise<EngineFacts>;
  /** The agreed client; throws `docker_unreachable` before `connect`. */
  client(): Docker;
  /** Bounds a call in time and converts its errors. */
  call<T>(run: (docker: Docker, signal: AbortSignal) => Promise<T>, milliseconds?: number): Promise<T>;
  /** Undefined: no such container. */
  inspect(container: string): Promise<InspectedContainer | undefined>;
  hasImage(image: string): Promise<boolean>;
  /** Undefined: it ended. */
  inspectSession(session: string): Promise<InspectedSession | undefined>;
  list(filters: { all: boolean; labels: readonly string[] }): Promise<readonly ListedContainer[]>;
  networks(name: string): Promise<readonly z.infer<typeof ListedNetwork>[]>;
  /** By `label=value`. */
  networksOf(label: string): Promise<readonly z.infer<typeof ListedNetwork>[]>;
  /** The last lines; empty where the container is gone. */
  tail(container: string, lines: number): Promise<Buffer>;
  /** The whole log, then what is added; ends with the container. */
  follow(container: string): Promise<Readable>;
  /** What it prints from now on, kept nowhere; with a terminal plain text. Before its start: all of it. Ends with it. */
  attach(container: string): Promise<Readable>;
  stats(container: string): Promise<StatsAnswer>;
  /** Resolves when it does not run (or is removed) or the time is over: whether it ended. */
  ended(container: string, condition: 'not-running' | 'removed', milliseconds: number): Promise<boolean>;
  /** `since`: Unix seconds with a fraction; undefined: from now on. */
  events(label: string, since: number | undefined): Promise<Readable>;
}

export function dockerApi(socket: string, clock: Clock, callLimit: number): DockerApi {
  let agreed: Docker | undefined;
  const client = (): Docker => {
    if (agreed === undefined) throw new AppError('docker_unreachable', 'not connected to the engine yet');
    return agreed;
  };
  const call: DockerApi['call'] = (run, milliseconds = callLimit) =>
    bounded(clock, milliseconds, (signal) => run(client(), signal));
  const networksBy = async (wanted: Readonly<Record<string, readonly string[]>>) => {
    const filters = JSON.stringify(wanted);
    const answer = await call((docker, abortSignal) => docker.listNetworks({ filters, abortSignal }));
    return z.array(ListedNetwork).parse(answer);
  };
  return {
    async connect() {
      const plain = open(socket, undefined);
      const version = VersionAnswer.parse(await bounded(clock, callLimit, () => plain.version()));
      const api = negotiated({ newest: version.ApiVersion, oldest: version.MinAPIVersion });
      const docker = open(socket, api);
      const info = InfoAnswer.parse(await bounded(clock, callLimit, () => docker.info()));
      agreed = docker;
      return { api, subpath: compareVersions(api, '1.45') >= 0, ioWeight: canWeighIo(info) };
    },
    client,
    call,
    async inspect(container) {
      const answer = await unlessGone(
        call((docker, abortSignal) => docker.getContainer(container).inspect({ abortSignal })),
      );
      return answer && InspectedContainer.parse(answer);
    },
    async hasImage(image) {
      return (await unlessGone(call((docker) => docker.getImage(image).inspect()))) !== undefined;
    },
    async inspectSession(session) {
      const answer = await unlessGone(
        call((docker, abortSignal) => docker.getExec(session).inspect({ abortSignal })),
      );
      return answer && InspectedSession.parse(answer);
    },
    async list({ all, labels }) {
      const filters = JSON.stringify({ label: labels });
      const answer = await call((docker, abortSignal) =>
        docker.listContainers({ all, filters, abortSignal }),
      );
      return z.array(ListedContainer).parse(answer);
    },
    async networks(name) {
      // Docker takes a part of the name for it.
      return (await networksBy({ name: [name] })).filter((network) => network.Name === name);
    },
    networksOf: (label) => networksBy({ label: [label] }),
    async tail(container, lines) {
      try {
        return await call(async (docker, abortSignal) => {
          const options = { stdout: true, stderr: true, tail: lines, follow: false as const, abortSignal };
          return bufferOf(await docker.getContainer(container).logs(options));
        });
      } catch (error) {
        if (refusedWith(error) === 404) return Buffer.alloc(0);
        throw error;
      }
    },
    follow(container) {
      const options = { stdout: true, stderr: true, follow: true as const };
      return call(async (docker) => readable(await docker.getContainer(container).logs(options)));
    },
    attach(container) {
      const options = { stream: true, stdout: true, stderr: true } as const;
      return call(async (docker) => readable(await docker.getContainer(container).attach(options)));
    },
    async stats(container) {
      const options = { stream: false, 'one-shot': true } as const;
      return StatsAnswer.parse(await call((docker) => docker.getContainer(container).stats(options)));
    },
    async ended(container, condition, milliseconds) {
      try {
        await call(
          (docker, abortSignal) => docker.getContainer(container).wait({ condition, abortSignal }),
          milliseconds,
        );
        return true;
      } catch (error) {
        if (refusedWith(error) === 404) return true;
        if (isTimeOut(error)) return false;
        throw error;
      }
    },
    events(label, since) {
      const filters = JSON.stringify({ type: ['container'], label: [label] });
      return call(async (docker) => {
        return readable(await docker.getEvents(since === undefined ? { filters } : { filters, since }));
      });
    },
  };
}

function open(socketPath: string, version: string | undefined): Docker {
  // Without `host` and `protocol` docker-modem would take them from DOCKER_HOST.
  const base = { socketPath, host: undefined, port: undefined, protocol: 'http' as const };
  return new Docker(version === undefined ? base : { ...base, version: `v${version}` });
}

async function unlessGone<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (refusedWith(error) === 404) return undefined;
    throw error;
  }
}

/** On cgroup v1 Docker itself leaves out what the kernel lacks; on v2 it warns at its start. */
function canWeighIo(info: InfoAnswer): boolean {
  return !(info.Warnings ?? []).some((warning) => /no (io\.weight|blkio weight) support/i.test(warning));
}

async function bounded<T>(
  clock: Clock,
  milliseconds: number,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const abort = new AbortController();
  const { promise, reject } = Promise.withResolvers<never>();
  const cancel = clock.at(clock.now().mono + milliseconds, () => {
    reject(noAnswer(milliseconds));
  });
  try {
    return await Promise.race([run(abort.signal), promise]);
  } catch (error) {
    // A call that was refused may still hold its connection: one that would be taken over is never ended.
    abort.abort();
    throw dockerError(error);
  } finally {
    cancel();
  }
}

/** dockerode gives a Buffer, or what it could parse of a text that happened to be JSON. */
function bufferOf(answer: unknown): Buffer {
  return Buffer.isBuffer(answer) ? answer : Buffer.alloc(0);
}

function readable(stream: NodeJS.ReadableStream): Readable {
  return stream as Readable;
}
