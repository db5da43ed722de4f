/**
 * Bytes of the buffers in which llama.cpp computes one batch.
 */
import type { Launch } from './launch.ts';
import type { ModelShape } from './model-shape.ts';
import type { Task } from './types.ts';

const F32 = 4;

/**
 * By device. With flash attention a batch holds three feed-forward widths and four embedding widths in
 * F32, and a mask of F16 over the context (measured: within 8 MiB); without it the attention scores of all
 * heads as well. Embedding models compute all outputs of a batch, so the vocabulary or embedding counts.
 */
export function computeBytes(
  shape: ModelShape,
  launch: Launch,
  task: Task,
): readonly { readonly device: string; readonly bytes: number }[] {
  const { microBatch, context } = launch;
  const layer = F32 * microBatch * (3 * shape.feedForward + 4 * shape.embedding);
  const mask = 2 * microBatch * context;
  const scores = launch.flashAttention ? 0 : F32 * microBatch * context * shape.heads;
  const outputs =
    task === 'chat'
      ? F32 * shape.vocabulary * launch.slots
      : F32 * microBatch * (shape.vocabulary + 2 * shape.embedding);
  const working = Math.max(layer, outputs) + mask + scores;
  if (launch.gpuLayers === 0 || launch.devices.length === 0) return [{ device: 'host', bytes: working }];
  const input = F32 * microBatch * shape.embedding * 2 + mask;
  return [
    ...launch.devices.map((device) => ({ device, bytes: working })),
    { device: 'host', bytes: Math.min(input, working) },
  ];
}
