/**
 * Bytes of the buffers in which llama.cpp computes one batch. The formulas follow the buffers that
 * llama-server 0.7.0 reports for dense, sliding-window, expert and hybrid models: exact to 1 MiB with flash
 * attention on the CPU, and not below it elsewhere.
 */
import { cellsOf } from './kv-cache.ts';
import type { Launch } from './launch.ts';
import type { ModelShape } from './model-shape.ts';
import type { Task } from './types.ts';

const F32 = 4;
const F16 = 2;

/** By device: each GPU computes whole layers, the host prepares their input. */
export function computeBytes(
  shape: ModelShape,
  launch: Launch,
  task: Task,
): readonly { readonly device: string; readonly bytes: number }[] {
  const bytes =
    Math.max(layerBytes(shape, launch), outputBytes(shape, launch, task)) + answerBytes(shape, launch);
  if (launch.gpuLayers === 0) return [{ device: 'host', bytes }];
  const widths = shape.encoder ? 5 : 4;
  const input = F32 * launch.microBatch * widths * shape.embedding + maskBytes(shape, launch, F16);
  return [
    ...launch.devices.map((device) => ({ device, bytes })),
    { device: 'host', bytes: Math.max(input, launch.gpuLayers > shape.layers.length ? 0 : bytes) },
  ];
}

/** The widest step of a layer: the feed-forward part, or without flash attention the scores of all heads. */
function layerBytes(shape: ModelShape, launch: Launch): number {
  const { microBatch, flashAttention } = launch;
  const wide = F32 * microBatch * (shape.feedForward + 5 * shape.embedding);
  if (flashAttention) return wide + maskBytes(shape, launch, F16);
  const { full } = cellsOf(shape, launch);
  const scores = F32 * microBatch * (full * shape.heads + 7 * shape.embedding + latentQueries(shape));
  return Math.max(wide, scores) + maskBytes(shape, launch, F32);
}

/** Latent attention holds each head's query in the width of the shared K, twice. */
function latentQueries({ layers, heads }: ModelShape): number {
  const latent = layers.find(({ k, v }) => k > 0 && v === 0);
  return latent === undefined ? 0 : 2 * heads * latent.k;
}

/** Which cell each token of the batch may look at; a window has a mask of its own. */
function maskBytes(shape: ModelShape, launch: Launch, width: number): number {
  const cells = cellsOf(shape, launch);
  const window = shape.layers.some((layer) => layer.window) ? cells.window : 0;
  return width * launch.microBatch * (cells.full + window);
}

/**
 * An embedding by a model that talks scores the vocabulary for every token of a batch; a chat only for the last
 * ones, a ranking for none. An encoder has nothing to score it by.
 */
function outputBytes(shape: ModelShape, launch: Launch, task: Task): number {
  if (task !== 'embedding' || shape.encoder) return 0;
  const wide = F32 * launch.microBatch * (shape.vocabulary + 5 * shape.embedding);
  return wide + maskBytes(shape, launch, F16);
}

/** Scores of the whole vocabulary, one token a slot, once computed and once to read. */
function answerBytes(shape: ModelShape, { slots }: Launch): number {
  return 2 * F32 * shape.vocabulary * slots;
}
