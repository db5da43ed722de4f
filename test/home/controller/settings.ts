import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import type { Bench } from '../bench.ts';
import type { WarmModel } from '../images/warm-shaders.ts';

/** A section of llamastead.yaml as data. */
export type Section = { [key: string]: unknown };

/** The bench's two models as its configuration runs them. Contexts are per request. */
export function benchModels(files: { tinyFile: string; chatFile: string }): readonly WarmModel[] {
  return Object.values(modelSections(files)).map(({ file, context, parallel }) => ({
    file,
    context,
    parallel,
  }));
}

function modelSections({ tinyFile, chatFile }: { tinyFile: string; chatFile: string }) {
  return {
    chat: { file: chatFile, context: 8192, parallel: 2, placements: ['gpu', 'cpu'] },
    tiny: { file: tinyFile, context: 2048, parallel: 4, placements: ['gpu', 'cpu'] },
  };
}

/** The bench's own llamastead.yaml: images are configuration, as they are for everyone. */
export function benchSettings(bench: Bench, options: { mqttPassword: string; story: boolean }): Section {
  return {
    images: { ...bench.images },
    gpus: [{ name: 'llvmpipe', kind: 'vulkan', env: { GGML_VK_VISIBLE_DEVICES: '0' }, memory: 'shared' }],
    models: modelSections(bench),
    mqtt: { embedded: { password: options.mqttPassword } },
    // The story waits until the GPU is back; programs get the default.
    ...(options.story ? { failover: { returnAfter: '3s' } } : {}),
  };
}

/** A configuration file as data. Throws with the file's name where it is no section of YAML. */
export function readSettings(file: string): Section {
  const data: unknown = parse(readFileSync(file, 'utf8')) ?? {};
  if (!isSection(data)) throw new Error(`${file}: not a YAML section`);
  return data;
}

/** `over` laid over `base` key by key; lists and single values replace, an empty section changes nothing. */
export function mergeSettings(base: Section, over: Section): Section {
  const merged = { ...base };
  for (const [key, value] of Object.entries(over)) {
    const below = merged[key];
    if (isSection(below) && isSection(value)) merged[key] = mergeSettings(below, value);
    else if (!(isSection(below) && value === null)) merged[key] = value;
  }
  return merged;
}

function isSection(value: unknown): value is Section {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What the bench itself has to know of the configuration that it starts. */
const Outward = z.object({
  listen: z.object({ port: z.int().optional() }).default({}),
  security: z.object({ adminToken: z.unknown() }).partial().default({}),
  mqtt: z
    .object({
      embedded: z
        .object({
          on: z.boolean().default(true),
          port: z.int().optional(),
          username: z.string().default('llamastead'),
          password: z.unknown().optional(),
        })
        .prefault({}),
      url: z.string().nullable().default(null),
      username: z.string().nullable().default(null),
      password: z.unknown().optional(),
      base: z.string().default('llamastead'),
      instance: z.string().default('home'),
    })
    .prefault({}),
});

export type Outward = z.output<typeof Outward>;

/**
 * Ports, broker and token by which a configuration is reached from outside. A value of a wrong kind counts as
 * not given: the controller refuses it in its own words.
 */
export function outwardOf(settings: Section): Outward {
  const parsed = Outward.safeParse(settings);
  return parsed.success ? parsed.data : Outward.parse({});
}

/** A secret that is written out; undefined for one in a file or a variable, which only the container sees. */
export function writtenOut(secret: unknown): string | undefined {
  return typeof secret === 'string' && secret !== 'auto' ? secret : undefined;
}
