/**
 * Everything that changes something in an engine. Nothing is stopped, changed or removed but what carries our
 * owner label: each change goes through `ours`, which looks at the label first.
 */
import type { Duplex } from 'node:stream';
import type Docker from 'dockerode';
import type { ContainerCreateOptions } from 'dockerode';
import { AppError } from '../../errors.ts';
import type { DockerApi } from './api.ts';
import { refusedWith } from './docker-error.ts';
import { LABELS } from './names.ts';

export interface Guarded {
  /** The new container's id. Throws `docker_refused`. */
  create(options: ContainerCreateOptions): Promise<string>;
  start(container: string): Promise<void>;
  /** Quiet where it does not run or is gone. */
  kill(container: string, signal: 'SIGTERM' | 'SIGKILL'): Promise<void>;
  /** Throws `docker_refused` where it does not run. */
  pause(container: string): Promise<void>;
  /** Without swap. Throws `docker_refused` where it uses more already and the kernel does not take it away. */
  limitMemory(container: string, bytes: number): Promise<void>;
  /** SIGKILL where it runs, then removal; quiet where it is gone or going. */
  remove(container: string, milliseconds?: number): Promise<void>;
  /**
   * Starts a program in it that reads what is written to the stream; the stream's end is the end of its input, and
   * its own end that of the stream (Docker sees to that only where its output is asked for).
   */
  attend(
    container: string,
    command: string[],
  ): Promise<{ readonly session: string; readonly stream: Duplex }>;
  createNetwork(name: string, labels: Record<string, string>): Promise<string>;
  /** Quiet where it is gone, somebody else's, or in use. */
  removeNetwork(network: string): Promise<void>;
  /** Puts the controller's own container on a network of ours. */
  joinOwnNetwork(network: string, self: string): Promise<void>;
}

const NOT_FOUND = 404;
const NOT_MODIFIED = 304;
const CONFLICT = 409;
const IN_USE = 403;

/** `beside`: labels that every container gets with its own. */
export function guarded(
  api: DockerApi,
  owner: string,
  beside: () => Readonly<Record<string, string>>,
): Guarded {
  /** Labels never change and ids are never reused, so one look is enough. */
  const known = new Set<string>();

  async function ours<T>(
    container: string,
    change: (container: Docker.Container) => Promise<T>,
    milliseconds?: number,
  ): Promise<T | undefined> {
    if (!known.has(container)) {
      const found = await api.inspect(container);
      if (found === undefined) return undefined;
      if (found.Config.Labels[LABELS.owner] !== owner) throw notOurs('container', container);
      known.add(container);
    }
    return api.call((docker) => change(docker.getContainer(container)), milliseconds);
  }

  async function ownNetwork(network: string): Promise<boolean> {
    const found = await api.networks(network);
    return found.some(({ Labels }) => Labels[LABELS.owner] === owner);
  }

  return {
    async create(options) {
      if (options.Labels?.[LABELS.owner] !== owner) throw notOurs('container', options.name ?? '');
      const { name, ...own } = options;
      const body = { ...own, Labels: { ...beside(), ...own.Labels } };
      // docker-modem would write all options, the key among them, into the address as well.
      const split = { _query: { name }, _body: body } as ContainerCreateOptions;
      const { id } = await api.call((docker, abortSignal) =>
        docker.createContainer({ ...split, abortSignal }),
      );
      known.add(id);
      return id;
    },
    async start(container) {
      await ours(container, (it) => it.start());
    },
    async kill(container, signal) {
      await quietOn([NOT_FOUND, CONFLICT], () => ours(container, (it) => it.kill({ signal })));
    },
    async pause(container) {
      await ours(container, (it) => it.pause());
    },
    async limitMemory(container, bytes) {
      await ours(container, (it) => it.update({ Memory: bytes, MemorySwap: bytes }));
    },
    async remove(container) {
      await quietOn([NOT_FOUND, CONFLICT], () =>
        ours(container, (it) => it.remove({ force: true, v: true })),
      );
      known.delete(container);
    },
    async attend(container, command) {
      const exec = await ours(container, (it) =>
        it.exec({ AttachStdin: true, AttachStdout: true, Cmd: command }),
      );
      if (exec === undefined) throw new AppError('docker_refused', `container ${container} is gone`);
      const stream = await api.call((_, abortSignal) =>
        exec.start({ hijack: true, stdin: true, abortSignal }),
      );
      return { session: exec.id, stream };
    },
    async createNetwork(name, labels) {
      const options = { Name: name, Driver: 'bridge', CheckDuplicate: true, Labels: labels };
      return (await api.call((docker) => docker.createNetwork(options))).id;
    },
    async removeNetwork(network) {
      if (!(await ownNetwork(network))) return;
      await quietOn([NOT_FOUND, IN_USE, CONFLICT], () =>
        api.call((docker) => docker.getNetwork(network).remove()),
      );
    },
    async joinOwnNetwork(network, self) {
      if (!(await ownNetwork(network))) throw notOurs('network', network);
      await quietOn([NOT_MODIFIED], () =>
        api.call((docker) => docker.getNetwork(network).connect({ Container: self })),
      );
    },
  };
}

function notOurs(what: string, id: string): AppError {
  return new AppError('not_ours', `${what} ${id} does not carry our owner label; it is left alone`);
}

async function quietOn(statuses: readonly number[], run: () => Promise<unknown>): Promise<void> {
  try {
    await run();
  } catch (error) {
    const status = refusedWith(error);
    if (status === undefined || !statuses.includes(status)) throw error;
  }
}
