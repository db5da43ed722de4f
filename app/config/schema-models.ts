/** The key `models`: what each entry may say. */
import { z } from 'zod';
import {
  alias,
  choice,
  durationOr,
  modelPath,
  name,
  text,
  uniqueList,
  variables,
  wholeNumber,
  yesNo,
} from './leaves.ts';
import { refuseModelEnv, refuseModelValue } from './model-env.ts';

const context = () => wholeNumber(128, 10_485_760);
const parallel = () => wholeNumber(1, 64);
const env = () =>
  variables(refuseModelEnv, refuseModelValue).meta({
    description:
      'Variables for llama-server. Allowed are those for sampling, KV types, batch, flash attention, templates, reasoning, speculative decoding, rope and NUMA, and GGML_*.',
    examples: [{ LLAMA_ARG_CACHE_TYPE_K: 'q8_0' }],
  });
const devices = () =>
  uniqueList(
    text('the name of a GPU, or a device of llama.cpp such as CUDA0'),
    'a list of GPUs by name, such as [card1]',
  )
    .min(1, { error: 'at least one GPU' })
    .meta({ description: 'GPUs to use, by their name; else the first.', examples: [['card1']] });

/** Keys that a placement may override. */
const shared = () => ({
  context: context().optional().meta({ description: "Another context than the model's." }),
  parallel: parallel()
    .optional()
    .meta({ description: "Another number of requests at once than the model's." }),
  env: env().optional(),
});

export const modelSchema = z.strictObject(
  {
    file: modelPath().meta({
      description: 'The GGUF file, relative to `paths.models`; the first shard of a split file.',
      examples: ['qwen2.5-7b-q4_k_m.gguf'],
    }),
    projector: modelPath()
      .nullable()
      .default(null)
      .meta({ description: 'Projector file (`mmproj`) for images, relative to `paths.models`.' }),
    task: choice(['auto', 'chat', 'embedding', 'rerank'])
      .default('auto')
      .meta({ description: 'What it is for; `auto` reads it from the file.' }),
    aliases: uniqueList(alias(), 'a list of names')
      .default([])
      .meta({ description: 'Other names by which clients may ask for it.', examples: [['gpt-4o-mini']] }),
    context: context().optional().meta({
      description: 'Tokens per request; without it the smaller of 8192 and what it was trained for.',
    }),
    parallel: parallel().default(1).meta({ description: 'Requests at once.' }),
    placements: uniqueList(choice(['gpu', 'split', 'cpu']), 'a list of gpu, split and cpu')
      .min(1, { error: 'at least one of gpu, split, cpu' })
      .default(['gpu', 'cpu'])
      .meta({ description: 'Where it may run, in order of preference. `split` has no effect yet.' }),
    idleUnload: durationOr('never')
      .prefault('10m')
      .meta({ description: 'Unload it after this time without a request.' }),
    keepLoaded: yesNo()
      .default(false)
      .meta({ description: 'Load it at the start and never unload it for idleness.' }),
    env: env().prefault({}),
    gpu: z
      .strictObject({ ...shared(), devices: devices().optional() }, { error: 'a section' })
      .prefault({})
      .meta({ description: 'What differs on the GPU.' }),
    split: z
      .strictObject({ ...shared(), devices: devices().optional() }, { error: 'a section' })
      .prefault({})
      .meta({ description: 'What differs in a CPU/GPU split.', noEffectYet: true }),
    cpu: z
      .strictObject(
        {
          ...shared(),
          file: modelPath().optional().meta({ description: 'Another, smaller file for the CPU.' }),
          projector: modelPath()
            .nullable()
            .optional()
            .meta({ description: 'Its projector; by default none where `cpu.file` is set.' }),
          threads: wholeNumber(1, 1024)
            .optional()
            .meta({ description: 'Threads; by default the cores less one.' }),
          standby: choice(['cold', 'cached', 'warm']).default('cold').meta({
            description:
              'How ready the CPU waits while the GPU serves, where there is room: `cached` keeps its file in the page cache, `warm` its instance loaded.',
          }),
        },
        { error: 'a section' },
      )
      .prefault({})
      .meta({ description: 'What differs on the CPU.' }),
  },
  { error: 'a section with at least the key file' },
);

export const modelsSchema = z
  .union([z.literal('auto'), z.record(name(), modelSchema)], {
    error: 'auto, or a section NAME: {file: ...} for each model',
  })
  .prefault('auto')
  .meta({
    description:
      'The models by name. `auto`: every model file below `paths.models`, on the GPU, then the CPU, one request at once.',
  });

export type ModelConfig = z.output<typeof modelSchema>;
