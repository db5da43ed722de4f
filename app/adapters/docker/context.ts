/**
 * What the parts of one engine's adapter share.
 */
import type { Clock, ContainersInput } from '../../ports.ts';
import type { DockerApi, EngineFacts } from './api.ts';
import type { CardMeter } from './card-meter.ts';
import type { Guarded } from './guarded.ts';
import type { Holders } from './holder.ts';
import type { MissingImages } from './images.ts';
import type { ModelsMount } from './models-mount.ts';
import type { Owner } from './names.ts';
import type { Log, Timing } from './options.ts';
import type { PortAllocator } from './port-allocator.ts';
import type { Presence } from './presence.ts';
import type { Registry } from './registry.ts';

export interface EngineContext {
  readonly owner: Owner;
  readonly api: DockerApi;
  readonly change: Guarded;
  readonly registry: Registry;
  readonly ports: PortAllocator;
  readonly holders: Holders;
  readonly images: MissingImages;
  readonly presence: Presence;
  readonly meter: CardMeter;
  readonly clock: Clock;
  readonly log: Log;
  readonly timing: Timing;
  readonly report: (input: ContainersInput) => void;
  /** A call had no answer: whether the engine is still there is looked at soon. */
  readonly doubt: () => void;
  /** Of the present connection; throws AppError `docker_unreachable` without one. */
  readonly facts: () => EngineFacts;
  /** Throws AppError `models_not_shared`. */
  readonly modelsMount: () => ModelsMount;
}
