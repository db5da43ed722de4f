/** The engines that can be used now, those on a local socket, and the containers on them. */
import { dockerContainers, type EngineConfig, refuseSecond } from '../adapters/docker/containers.ts';
import { type Config, resolveImages } from '../config.ts';
import type { Policy } from '../core/types.ts';
import { type FaultyStarts, faultyStarts } from '../inspect/drill/faulty-starts.ts';
import type { Log } from '../log.ts';
import type { Clock, Containers, ContainersInput } from '../ports.ts';

export interface Latest {
  /** After its last reload. */
  config(): Config;
  /** What came of it; null: nothing yet. */
  policy(): Policy | null;
}

/** `owner`: the uuid in our label. */
export function engineContainers(
  config: Config,
  latest: Latest,
  owner: string,
  clock: Clock,
  log: Log,
): FaultyStarts {
  const containers = dockerContainers({
    home: config.mqtt.instance,
    owner,
    engines: engineSockets(config),
    images: () => {
      const images = resolveImages(latest.config());
      return {
        holder: images.cpu,
        all: Object.values(images),
        used: (engine) => imagesOf(latest.policy(), engine),
        cards: (engine) => (hasNvidia(latest.policy(), engine) ? images.cuda : null),
      };
    },
    models: { here: config.paths.models, onHost: config.paths.modelsOnHost },
    network: config.network,
    clock,
    log: log.logger,
  });
  return faultyStarts(containers);
}

/** Rejects with AppError `already_running` where another controller of this home lives. */
export async function refuseSecondController(config: Config, clock: Clock): Promise<void> {
  await refuseSecond({ home: config.mqtt.instance, engines: engineSockets(config), clock });
}

/** As `open`; `back` is called when an engine answers that did not, but not at the first try on it. */
export async function openEngines(
  containers: Pick<Containers, 'open'>,
  report: (input: ContainersInput) => void,
  back: () => void,
): Promise<void> {
  let tried = false;
  await containers.open((input) => {
    report(input);
    if (tried && input.type === 'engine_reachable') back();
  });
  tried = true;
}

function imagesOf(policy: Policy | null, engine: string): string[] {
  const profiles = [...(policy?.models.values() ?? [])].flatMap(({ profiles }) => Object.values(profiles));
  return [...new Set(profiles.filter((one) => one.engine === engine).map(({ image }) => image))];
}

/** A card with memory of its own; any other's is the host's. */
function hasNvidia(policy: Policy | null, engine: string): boolean {
  const gpus = policy?.gpus ?? [];
  return gpus.some((gpu) => gpu.kind === 'nvidia' && gpu.engine === engine && gpu.memory === 'dedicated');
}

function engineSockets(config: Config): Readonly<Record<string, EngineConfig>> {
  const sockets: Record<string, EngineConfig> = {};
  for (const [name, engine] of Object.entries(config.engines)) {
    if ('socket' in engine) sockets[name] = { socket: engine.socket };
  }
  return sockets;
}
