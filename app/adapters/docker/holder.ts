/**
 * The holder: a container that does nothing but keep a network for the instances to share. So an instance's
 * address is there before it is, and refuses at once when it is dead.
 */
import { randomBytes } from 'node:crypto';
import { AppError } from '../../errors.ts';
import type { DockerApi } from './api.ts';
import { holderOptions } from './container-spec.ts';
import { dockerError, isUnreachable, refusedWith } from './docker-error.ts';
import type { Guarded } from './guarded.ts';
import type { Owner } from './names.ts';
import { LABELS, labelsFor } from './names.ts';
import type { Log } from './options.ts';
import type { ListedContainer } from './schemas.ts';
import type { NetworkPlan } from './whoami.ts';

export interface Holder {
  readonly container: string;
  /** Its address on the network that this process reaches. */
  readonly host: string;
}

export interface Holders {
  /** The one that new instances join; made where there is none. Throws Docker's error. */
  ensure(): Promise<Holder>;
  /** Where the instances on this holder are reached; undefined: it is dead, or on another network. */
  at(container: string): Promise<Holder | undefined>;
  current(): Holder | undefined;
  /** It died or was paused: the next `ensure` makes another. Whether it was the current one. */
  lost(container: string): boolean;
  /** Removes holders on which nothing is; `containers`: all that are ours. */
  sweep(containers: readonly ListedContainer[]): Promise<void>;
  /** Removes every holder, and the network that was made; no more are made then. */
  removeAll(): Promise<void>;
}

export interface HolderOptions {
  readonly owner: Owner;
  readonly image: () => string;
  readonly api: DockerApi;
  readonly change: Guarded;
  readonly log: Log;
  /** Of the present connection. */
  readonly network: () => NetworkPlan;
  /** Waited for before a holder is used. */
  readonly taken: (container: string) => Promise<void>;
}

export function holders({ owner, image, api, change, log, network, taken }: HolderOptions): Holders {
  let current: Holder | undefined;
  let making: Promise<Holder> | undefined;
  let closed = false;
  const toldHeld = new Set<string>();

  async function at(container: string): Promise<Holder | undefined> {
    const found = await api.inspect(container);
    if (found === undefined || !found.State.Running || found.State.Paused === true) return undefined;
    const host = found.NetworkSettings.Networks[network().name]?.IPAddress;
    return host === undefined || host === '' ? undefined : { container: found.Id, host };
  }

  async function existing(): Promise<Holder | undefined> {
    for (const { Id, State } of await listed()) {
      const holder = State === 'running' ? await at(Id) : undefined;
      if (holder !== undefined) return holder;
    }
    return undefined;
  }

  async function make(): Promise<Holder> {
    const plan = network();
    if (plan.kind === 'make') await ensureNetwork(plan.name, plan.join);
    const random = randomBytes(3).toString('hex');
    const container = await change.create(holderOptions(owner, image(), plan.name, random));
    const holder = await started(container, plan.name).catch(async (error: unknown) => {
      await change.remove(container);
      throw error;
    });
    log.info({ container: holder.container, host: holder.host, network: plan.name }, 'made a holder');
    return holder;
  }

  async function started(container: string, on: string): Promise<Holder> {
    await change.start(container);
    const holder = await at(container);
    if (holder !== undefined) return holder;
    throw new AppError('holder_failed', `the holder has no address on the network ${on}`);
  }

  async function ensureNetwork(name: string, join: string | null): Promise<void> {
    if ((await api.networks(name)).length === 0) {
      const { [LABELS.role]: _role, ...labels } = labelsFor(owner, 'holder');
      await change.createNetwork(name, labels).catch((error: unknown) => {
        // Somebody was quicker.
        if (refusedWith(error) !== 409) throw error;
      });
    }
    if (join !== null) await change.joinOwnNetwork(name, join);
  }

  async function listed(): Promise<readonly ListedContainer[]> {
    const labels = [
      `${LABELS.owner}=${owner.owner}`,
      `${LABELS.role}=holder`,
      `${LABELS.engine}=${owner.engine}`,
    ];
    return api.list({ all: true, labels });
  }

  /** An unused one that Docker does not let go is in nobody's way; it is tried again. */
  function held(container: string, error: AppError): void {
    if (isUnreachable(error)) throw error;
    if (!toldHeld.has(container)) {
      log.warn({ container, error: error.message }, 'an unused holder could not be removed');
    }
    toldHeld.add(container);
  }

  return {
    at,
    current: () => current,
    async ensure() {
      if (closed) throw new AppError('closed', 'no more holders are made');
      if (current !== undefined) return current;
      making ??= existing()
        .then((found) => found ?? make())
        .then(async (holder) => {
          await taken(holder.container);
          current = holder;
          return holder;
        })
        .finally(() => {
          making = undefined;
        });
      return making;
    },
    lost(container) {
      if (current?.container !== container) return false;
      current = undefined;
      return true;
    },
    async sweep(containers) {
      const used = new Set(containers.map(({ HostConfig }) => HostConfig?.NetworkMode ?? ''));
      for (const { Id, Labels } of containers) {
        if (Labels[LABELS.role] !== 'holder' || Id === current?.container) continue;
        if (current === undefined || used.has(`container:${Id}`)) continue;
        await change.remove(Id).catch((thrown: unknown) => held(Id, dockerError(thrown)));
      }
    },
    async removeAll() {
      closed = true;
      // One that is being made would come after the list.
      await making?.catch(() => undefined);
      for (const { Id } of await listed()) await change.remove(Id);
      current = undefined;
      const plan = network();
      if (plan.kind === 'make') await change.removeNetwork(plan.name);
    },
  };
}
