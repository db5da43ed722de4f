/** The keys that name parts of the machine: engines, images, GPUs. They come from the file alone. */
import { z } from 'zod';
import {
  absolutePath,
  choice,
  name,
  sizeOr,
  slug,
  text,
  uniqueList,
  variables,
  wholeNumber,
} from './leaves.ts';
import { refuseGpuEnv } from './model-env.ts';

const hostModels = () =>
  absolutePath().meta({ description: 'The models folder on that machine, as its Docker sees it.' });

const pem = (what: string) => absolutePath().meta({ description: `PEM file of ${what}.` });

const ENGINE =
  '{socket: PATH}, {ssh: user@host, models: PATH} or {host: HOST, port: PORT, tls: {ca, cert, key}, models: PATH}';

export const engineSchema = z.union(
  [
    z.strictObject({ socket: absolutePath().meta({ description: 'Path of a Docker socket.' }) }),
    z.strictObject({
      ssh: text('user@host, or ssh://user@host:port', /^(ssh:\/\/)?[^\s@]+@[^\s@]+$/).meta({
        description: 'A machine whose Docker is reached by ssh.',
        noEffectYet: true,
      }),
      models: hostModels(),
    }),
    z.strictObject({
      host: text('a host name or address', /^[^\s/]+$/).meta({
        description: 'A machine whose Docker is reached by TLS.',
        noEffectYet: true,
      }),
      port: wholeNumber(1, 65_535).default(2376).meta({ description: 'Its port.' }),
      tls: z.strictObject(
        { ca: pem('the authority that it is signed by'), cert: pem('our certificate'), key: pem('our key') },
        { error: '{ca: PATH, cert: PATH, key: PATH}' },
      ),
      models: hostModels(),
    }),
  ],
  { error: ENGINE },
);

export const enginesSchema = z
  .record(slug(), engineSchema, { error: `a section NAME: ${ENGINE}` })
  .refine((engines) => Object.keys(engines).length > 0, { error: 'at least one engine' })
  .prefault({ local: { socket: '/var/run/docker.sock' } })
  .meta({
    description:
      'Docker engines by name, by default `local` with the socket `/var/run/docker.sock`. Each has one of three forms: `socket`; `ssh` and `models`; `host`, `port`, `tls` and `models`.',
  });

const image = (variant: string, use: string) =>
  text('the name of an image, such as ghcr.io/ggml-org/llama.cpp:server', /^[\w.:/@-]+$/)
    .default(`ghcr.io/ggml-org/llama.cpp:server${variant}-b10573`)
    .meta({ description: `Image of llama-server for ${use}.` });

export const imagesSchema = z
  .strictObject(
    {
      cpu: image('', 'the CPU'),
      cuda: image('-cuda', 'NVIDIA cards'),
      vulkan: image('-vulkan', 'Intel and other GPUs, by Vulkan'),
      rocm: image('-rocm', 'AMD cards, by ROCm'),
      mirror: text('a registry, such as registry.lan:5000', /^[\w.:/-]+$/)
        .nullable()
        .default(null)
        .meta({ description: "Registry that stands in for the images' own." }),
    },
    { error: 'a section' },
  )
  .prefault({})
  .meta({ description: 'Images of the instances.' });

export const gpuSchema = z.strictObject(
  {
    name: name().meta({ description: 'Name of the GPU.', examples: ['card1'] }),
    kind: choice(['nvidia', 'amd', 'intel', 'vulkan']).meta({
      description: 'How it is given to a container: `vulkan` is any GPU under `/dev/dri`, by Vulkan.',
    }),
    engine: slug().optional().meta({ description: 'Its engine; else the first.' }),
    devices: uniqueList(
      text('a device of llama.cpp, such as CUDA0, ROCm0 or Vulkan0', /^(CUDA|ROCm|Vulkan|SYCL)\d{1,2}$/),
      'a list of devices of llama.cpp',
    )
      .min(1, { error: 'at least one device' })
      .optional()
      .meta({ description: "llama.cpp's names for it; else the first of its kind.", examples: [['CUDA0']] }),
    env: variables(refuseGpuEnv)
      .prefault({})
      .meta({
        description: 'Variables of GGML and the driver for the containers that use it.',
        examples: [{ GGML_VK_VISIBLE_DEVICES: '0' }],
      }),
    memory: choice(['auto', 'dedicated', 'shared']).default('auto').meta({
      description:
        '`shared`: its memory is RAM of the machine. `auto`: as detected, else shared for Intel only.',
    }),
    headroom: sizeOr('auto').prefault('auto').meta({
      description: 'Device memory left alone; `auto` is 512MiB.',
    }),
  },
  { error: 'a section with at least name and kind' },
);

export const gpusSchema = z
  .union([z.literal('auto'), z.array(gpuSchema)], {
    error: 'auto, or a list of {name: ..., kind: nvidia|amd|intel|vulkan}, or [] for none',
  })
  .prefault('auto')
  .meta({ description: 'The GPUs: `auto` detects them, `[]` is none.' });

export type EngineConfig = z.output<typeof engineSchema>;
export type GpuConfig = z.output<typeof gpuSchema>;
