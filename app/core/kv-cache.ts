/**
 * Bytes of the context's memory by layer: the KV cache, and the state of recurrent layers. Formula:
 * streams * cells * (K elements * bytes + V elements * bytes) for each layer that keeps K and V, where
 * cells are padded to 256; a window layer needs the window and one batch only.
 */
import type { Launch } from './launch.ts';
import type { LayerShape, ModelShape } from './model-shape.ts';

const CELL_PADDING = 256;
const F32 = 4;

/** Bytes that each layer keeps, in the order of the layers. */
export function contextBytesByLayer(shape: ModelShape, launch: Launch): readonly number[] {
  const cells = cellsOf(shape, launch);
  return shape.layers.map((layer) => {
    const kept = layer.window && !launch.fullWindow ? cells.window : cells.full;
    return cells.streams * kept * tokenBytes(layer, launch) + launch.slots * layer.state * F32;
  });
}

/** Bytes of one slot's whole state, as the prompt cache or a saved slot holds it. */
export function slotBytes(shape: ModelShape, launch: Launch): number {
  const perSlot = { ...launch, context: Math.ceil(launch.context / launch.slots), slots: 1, unified: false };
  return sum(contextBytesByLayer(shape, perSlot));
}

/**
 * Bytes of one saved point of a slot: what cannot be rolled back (window layers, recurrent states). 0 for
 * a model that attends to everything.
 */
export function checkpointBytes(shape: ModelShape, launch: Launch): number {
  if (launch.fullWindow && shape.layers.every((layer) => layer.state === 0)) return 0;
  return sum(
    shape.layers.map((layer) => {
      const window = layer.window ? shape.slidingWindow * tokenBytes(layer, launch) : 0;
      return window + layer.state * F32;
    }),
  );
}

function tokenBytes(layer: LayerShape, launch: Launch): number {
  return layer.k * launch.bytesK + layer.v * launch.bytesV;
}

/** Cells of one stream, for layers that attend to everything and for those of a window; both padded. */
export function cellsOf(
  shape: ModelShape,
  { context, slots, unified, microBatch }: Launch,
): { streams: number; full: number; window: number } {
  const streams = unified ? 1 : slots;
  const full = pad(Math.ceil(context / streams));
  const wanted = shape.slidingWindow * (unified ? slots : 1) + microBatch;
  return { streams, full, window: pad(Math.min(full, wanted)) };
}

function pad(cells: number): number {
  return Math.ceil(cells / CELL_PADDING) * CELL_PADDING;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
