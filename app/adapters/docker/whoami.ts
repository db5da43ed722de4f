/**
 * The controller's own container as the engine knows it: its mounts and networks.
 */
import type { DockerApi } from './api.ts';
import type { OwnMount } from './models-mount.ts';
import { ownContainerIds } from './mountinfo.ts';
import { isNetworkOf, networkName, type Owner } from './names.ts';
import type { InspectedContainer } from './schemas.ts';

const COMPOSE_PROJECT = 'com.docker.compose.project';
const COMPOSE_REPLACE = 'com.docker.compose.replace';

export interface Self {
  readonly id: string;
  readonly mounts: readonly OwnMount[];
  /** Names of the networks that it is on. */
  readonly networks: readonly string[];
  /** As Docker keeps it: `default`, `bridge`, `host`, `container:ID`, or a network. */
  readonly networkMode: string;
  /** It was made by `docker compose`, as CasaOS makes its apps. */
  readonly composed: boolean;
}

/** `mountinfo`: the file's text. Null where this process does not run in a container of this engine. */
export async function whoAmI(api: DockerApi, mountinfo: string): Promise<Self | null> {
  for (const id of ownContainerIds(mountinfo)) {
    const found = await api.inspect(id);
    if (found === undefined) continue;
    const networkMode = found.HostConfig.NetworkMode ?? 'default';
    // One that shares another's network has that one's.
    const shared = networkMode.startsWith('container:')
      ? await api.inspect(networkMode.slice('container:'.length))
      : found;
    return {
      id: found.Id,
      mounts: found.Mounts.map(ownMount),
      networks: Object.keys((shared ?? found).NetworkSettings.Networks),
      networkMode,
      composed: found.Config.Labels[COMPOSE_PROJECT] !== undefined,
    };
  }
  return null;
}

/**
 * Labels beside our own for what belongs to the controller's app. CasaOS shows every container outside of its apps as a
 * "legacy app", but not one that stands in for a container of an app: compose marks so what it makes in an update
 * (CasaOS-AppManagement, route/v2/internal_web.go). Compose itself looks at containers of its project only, which ours
 * are not: neither `up --remove-orphans` nor `down`, `stop` or the app's status takes notice of them.
 */
export function appLabels(self: Self | null): Readonly<Record<string, string>> {
  return self?.composed === true ? { [COMPOSE_REPLACE]: self.id } : {};
}

function ownMount(mount: InspectedContainer['Mounts'][number]): OwnMount {
  return {
    type: mount.Type === 'bind' || mount.Type === 'volume' ? mount.Type : 'other',
    name: mount.Name ?? '',
    source: mount.Source ?? '',
    destination: mount.Destination,
  };
}

/** Where the holder is put, so that this process reaches it. */
export type NetworkPlan =
  /** A network that is there already. */
  | { readonly kind: 'use'; readonly name: string }
  /** One made by us; `join`: this container is put on it as well. */
  | { readonly kind: 'make'; readonly name: string; readonly join: string | null };

const DEFAULT_BRIDGE = 'bridge';
const UNUSABLE = new Set([DEFAULT_BRIDGE, 'host', 'none']);

/**
 * `wanted`: the configured network or `auto`. Networks that a home of this name made are no networks of the
 * controller's own. A process on the host, or in the host's network, reaches every bridge network.
 */
export function networkPlan(
  wanted: string | 'auto',
  self: Self | null,
  owner: Pick<Owner, 'home' | 'owner'>,
): NetworkPlan {
  const ours = networkName(owner);
  if (wanted !== 'auto') return { kind: 'use', name: wanted };
  if (self === null || self.networkMode === 'host') return { kind: 'make', name: ours, join: null };
  const others = self.networks.filter((name) => !UNUSABLE.has(name) && !isNetworkOf(owner.home, name));
  const [named] = others;
  if (named !== undefined) return { kind: 'use', name: named };
  // Its network is another container's, which is not ours to move.
  if (self.networkMode.startsWith('container:')) return { kind: 'use', name: DEFAULT_BRIDGE };
  return { kind: 'make', name: ours, join: self.networks.includes(ours) ? null : self.id };
}
