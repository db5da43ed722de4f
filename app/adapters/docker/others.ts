/**
 * Containers that are not ours, as a drill compares them before and after, and whether they hold a GPU.
 */
import type { OtherContainer } from '../../ports/drills.ts';
import type { DockerApi } from './api.ts';
import type { Owner } from './names.ts';
import { LABELS } from './names.ts';
import type { InspectedContainer } from './schemas.ts';

/** Throws Docker's error. */
export async function others(
  api: DockerApi,
  owner: Owner,
  self: string | null,
): Promise<readonly OtherContainer[]> {
  const listed = await api.list({ all: true, labels: [] });
  const foreign = listed.filter(({ Id, Labels }) => Labels[LABELS.owner] !== owner.owner && Id !== self);
  const inspected = await Promise.all(foreign.map(({ Id }) => api.inspect(Id)));
  // One that went in between is no longer there.
  return inspected.flatMap((found) => (found === undefined ? [] : [other(found, owner.engine)]));
}

function other(found: InspectedContainer, engine: string): OtherContainer {
  const { State } = found;
  return {
    engine,
    container: found.Id,
    name: (found.Name ?? found.Id.slice(0, 12)).replace(/^\//, ''),
    running: State.Running,
    startedAt: State.StartedAt ?? '',
    exitCode: State.ExitCode,
    oomKilled: State.OOMKilled ?? false,
    // The reader of the cards' memory, of whatever home, uses none.
    gpus: found.Config.Labels[LABELS.role] === 'probe' ? [] : gpusOf(found),
    ofAnotherHome: found.Config.Labels[LABELS.owner] !== undefined,
  };
}

/** By devices, binds, device requests and runtime; `dri` is what AMD, Intel and Vulkan use. */
export function gpusOf({ HostConfig, Config }: Pick<InspectedContainer, 'HostConfig' | 'Config'>) {
  const paths = [
    ...(HostConfig.Devices ?? []).map(({ PathOnHost }) => PathOnHost ?? ''),
    ...(HostConfig.Binds ?? []),
  ];
  const requested = (HostConfig.DeviceRequests ?? []).map((request) => JSON.stringify(request));
  const nvidia =
    (HostConfig.Runtime === 'nvidia' &&
      Config.Env.some((line) => /^NVIDIA_VISIBLE_DEVICES=(?!void|none)./.test(line))) ||
    paths.some((path) => path.startsWith('/dev/nvidia')) ||
    requested.some((request) => /nvidia|"gpu"/.test(request));
  const dri =
    paths.some((path) => /^\/dev\/(dri|kfd)\b/.test(path)) ||
    requested.some((request) => /amd\.com\/gpu|intel\.com\/gpu/.test(request));
  return [...(nvidia ? (['nvidia'] as const) : []), ...(dri ? (['dri'] as const) : [])];
}
