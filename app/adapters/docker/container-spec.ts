/**
 * From a plan to Docker's create options: pure, so that every kind of GPU is tested without one.
 */
import type { ContainerCreateOptions, MountSettings } from 'dockerode';
import type { InstancePlan } from '../../core/effects.ts';
import type { GpuAccess } from './gpu-access.ts';
import { llamaEnv } from './llama-env.ts';
import type { ModelsMount } from './models-mount.ts';
import { MODELS_TARGET } from './models-mount.ts';
import type { Owner } from './names.ts';
import { holderName, LABELS, labelsFor, meterName } from './names.ts';
import { SMI_COMMAND } from './nvidia-smi.ts';

/** Above every service's default of 0: when the host runs out of memory, models go first (-1000 to 1000). */
const OOM_SCORE = 500;
/** Docker's default is 1024 (2 to 262144). */
const CPU_SHARES = 256;
/** Docker's default is 500 (10 to 1000). */
const IO_WEIGHT = 100;
/** A busy server's log of hours; the last lines are what matters. */
const LOG = { Type: 'json-file', Config: { 'max-size': '1m', 'max-file': '2' } };
const NO_HEALTHCHECK = { Test: ['NONE'] };

/** What is decided for one container beside its plan. */
export interface Place {
  readonly name: string;
  readonly holder: string;
  readonly port: number;
  readonly key: string;
  readonly models: ModelsMount;
  readonly gpu: GpuAccess;
  /** Whether the engine can weigh block I/O (not every cgroup v2 host). */
  readonly ioWeight: boolean;
}

/** `plan.memoryLimit` is a hard limit and swap is off. Throws as `llamaEnv`. */
export function instanceOptions(owner: Owner, plan: InstancePlan, place: Place): ContainerCreateOptions {
  const env = llamaEnv(plan, { port: place.port, key: place.key, folder: place.models.folder });
  return {
    name: place.name,
    Image: plan.profile.image,
    // The proof warms up; this one flag has no variable.
    Cmd: ['--no-warmup'],
    Env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
    Labels: {
      ...labelsFor(owner, 'instance'),
      [LABELS.model]: plan.model,
      [LABELS.placement]: plan.profile.placement,
      [LABELS.config]: plan.profile.hash,
    },
    Healthcheck: NO_HEALTHCHECK,
    HostConfig: {
      Init: true,
      NetworkMode: `container:${place.holder}`,
      Mounts: [modelsSettings(place.models)],
      Memory: plan.memoryLimit,
      MemorySwap: plan.memoryLimit,
      OomScoreAdj: OOM_SCORE,
      CpuShares: CPU_SHARES,
      ...(place.ioWeight ? { BlkioWeight: IO_WEIGHT } : {}),
      LogConfig: LOG,
      RestartPolicy: { Name: 'no' },
      SecurityOpt: ['no-new-privileges'],
      ...place.gpu,
    },
  };
}

/** Does nothing but keep a network alive. */
export function holderOptions(
  owner: Owner,
  image: string,
  network: string,
  random: string,
): ContainerCreateOptions {
  return {
    name: holderName(owner.home, random),
    Image: image,
    Entrypoint: ['sleep'],
    Cmd: ['infinity'],
    Labels: labelsFor(owner, 'holder'),
    Healthcheck: NO_HEALTHCHECK,
    HostConfig: {
      Init: true,
      NetworkMode: network,
      LogConfig: LOG,
      RestartPolicy: { Name: 'no' },
      SecurityOpt: ['no-new-privileges'],
      CapDrop: ['ALL'],
    },
  };
}

/** nvidia-smi takes some 30 MiB. */
const METER_MEMORY = 128 * 1024 * 1024;
const METER_THREADS = 32;

/**
 * nvidia-smi, which the NVIDIA container toolkit puts into any image; what it prints is read from the running container
 * and written nowhere. A terminal has it print each line at once. What the
 * image requires of the driver is not for this program.
 */
export function meterOptions(
  owner: Owner,
  image: string,
  access: GpuAccess,
  random: string,
): ContainerCreateOptions {
  const [program = '', ...args] = SMI_COMMAND;
  return {
    name: meterName(owner.home, random),
    Image: image,
    Entrypoint: [program],
    Cmd: args,
    Tty: true,
    Env: ['NVIDIA_VISIBLE_DEVICES=all', 'NVIDIA_DRIVER_CAPABILITIES=utility', 'NVIDIA_DISABLE_REQUIRE=true'],
    Labels: labelsFor(owner, 'probe'),
    Healthcheck: NO_HEALTHCHECK,
    HostConfig: {
      Init: true,
      NetworkMode: 'none',
      Memory: METER_MEMORY,
      MemorySwap: METER_MEMORY,
      PidsLimit: METER_THREADS,
      OomScoreAdj: OOM_SCORE,
      CpuShares: CPU_SHARES,
      LogConfig: { Type: 'none', Config: {} },
      RestartPolicy: { Name: 'no' },
      SecurityOpt: ['no-new-privileges'],
      CapDrop: ['ALL'],
      ...access,
    },
  };
}

function modelsSettings(models: ModelsMount): MountSettings {
  const mount: MountSettings = {
    Type: models.type,
    Source: models.source,
    Target: MODELS_TARGET,
    ReadOnly: true,
  };
  if (models.subpath === undefined) return mount;
  const VolumeOptions = { NoCopy: true, Labels: {}, DriverConfig: { Name: '', Options: {} } };
  return { ...mount, VolumeOptions: { ...VolumeOptions, Subpath: models.subpath } };
}
