/** The profiles of a model: how it runs on each placement that can be built on this machine. */

import { nearest } from '../core/nearest.ts';
import type { Gpu, Placement, Problem, Profile, Task } from '../core/types.ts';
import type { ModelFile } from '../ports.ts';
import { firstEngine, gpuFor } from './gpus.ts';
import { familyOf, type Images } from './images.ts';
import { profileHash } from './profile-hash.ts';
import type { ModelConfig } from './schema-models.ts';
import type { Config } from './secrets.ts';

/** Context where none is configured: the smaller of this and what the model was trained for. */
const AUTO_CONTEXT = 8192;

export interface NamedModel {
  readonly name: string;
  readonly displayName: string;
  readonly entry: ModelConfig;
}

/** What profiles are made from beside the model. */
export interface MachineParts {
  readonly config: Config;
  readonly gpus: readonly Gpu[];
  readonly files: readonly ModelFile[];
  readonly cores: number;
  readonly images: Images;
}

export interface BuiltProfiles {
  readonly task: Task;
  readonly profiles: Readonly<Partial<Record<Placement, Profile>>>;
  readonly problems: readonly Problem[];
}

type Built = { readonly profile: Profile } | { readonly problem: Problem } | null;

/** Tokens per request where the configuration says nothing. */
export function autoContext(file: ModelFile | undefined): number {
  return Math.min(AUTO_CONTEXT, file?.trainedContext ?? AUTO_CONTEXT);
}

/** `split` has no profile yet. A file that is not there gives a problem instead of its profiles. */
export function profilesOf(model: NamedModel, parts: MachineParts): BuiltProfiles {
  const main = parts.files.find(({ file }) => file === model.entry.file);
  const task = model.entry.task === 'auto' ? taskOf(main) : model.entry.task;
  const built = model.entry.placements.map((placement): readonly [Placement, Built] => {
    if (placement === 'split') return [placement, null];
    return [placement, placement === 'gpu' ? onGpu(model, task, parts) : onCpu(model, task, parts)];
  });
  const problems = built.flatMap(([, result]) =>
    result !== null && 'problem' in result ? [result.problem] : [],
  );
  return {
    task,
    profiles: Object.fromEntries(
      built.flatMap(([placement, result]) =>
        result !== null && 'profile' in result ? [[placement, result.profile]] : [],
      ),
    ),
    problems: [...new Map(problems.map((problem) => [problem.text, problem])).values()],
  };
}

/** A file without a word on pooling answers chats. */
export function taskOf(file: ModelFile | undefined): Task {
  return file === undefined || file.pooling === 'none' ? 'chat' : file.pooling;
}

function onGpu(model: NamedModel, task: Task, parts: MachineParts): Built {
  const { entry } = model;
  const chosen = gpuFor(parts.gpus, entry.gpu.devices);
  if ('expected' in chosen)
    return { problem: wrongDevices(model.name, entry.gpu.devices ?? [], chosen.expected) };
  if (chosen.gpu === null) return null;
  const { file, projector } = entry;
  return build(model, 'gpu', { task, file, projector, gpu: chosen.gpu, over: entry.gpu, parts });
}

function onCpu(model: NamedModel, task: Task, parts: MachineParts): Built {
  const { entry } = model;
  const other = entry.cpu.file !== undefined && entry.cpu.file !== entry.file;
  const file = entry.cpu.file ?? entry.file;
  const projector =
    entry.cpu.projector === undefined ? (other ? null : entry.projector) : entry.cpu.projector;
  return build(model, 'cpu', { task, file, projector, gpu: null, over: entry.cpu, parts });
}

interface Choice {
  readonly task: Task;
  readonly file: string;
  readonly projector: string | null;
  readonly gpu: Gpu | null;
  readonly over: ModelConfig['gpu'] | ModelConfig['cpu'];
  readonly parts: MachineParts;
}

function build({ name, entry }: NamedModel, placement: Placement, choice: Choice): Built {
  const { file, projector, gpu, over, parts, task } = choice;
  const found = parts.files.find((other) => other.file === file);
  if (found === undefined) return { problem: missingFile(name, file, parts.files) };
  const profile: Omit<Profile, 'hash'> = {
    placement,
    engine: gpu?.engine ?? firstEngine(parts.config),
    image: parts.images[familyOf(gpu)],
    file,
    projector,
    task,
    context: over.context ?? entry.context ?? autoContext(found),
    parallel: over.parallel ?? entry.parallel,
    threads: ('threads' in over ? over.threads : undefined) ?? Math.max(1, parts.cores - 1),
    env: { ...entry.env, ...over.env },
    gpu,
    standby: placement === 'cpu' ? entry.cpu.standby : 'cold',
  };
  return { profile: { ...profile, hash: profileHash(profile) } };
}

function missingFile(model: string, file: string, files: readonly ModelFile[]): Problem {
  const near = nearest(
    file,
    files.map((other) => other.file),
  );
  return {
    code: 'model_file_missing',
    text: `The file ${file} of the model ${model} is not in the models folder, or is no usable model.`,
    fix:
      near === null
        ? 'Put the file there, or correct its name in llamastead.yaml.'
        : `Perhaps ${near} is meant: correct the name in llamastead.yaml.`,
    model,
    about: file,
    params: { file, ...(near === null ? {} : { near }) },
  };
}

function wrongDevices(model: string, devices: readonly string[], expected: string): Problem {
  return {
    code: 'gpu_unknown',
    text: `The model ${model} asks for the GPU ${devices.join(', ')}, which does not fit: expected ${expected}.`,
    fix: `Correct models.${model}.gpu.devices in llamastead.yaml.`,
    model,
    params: { devices: devices.join(', ') },
  };
}
