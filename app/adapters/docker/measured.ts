/**
 * Where a llama-server really placed a model, from the lines that it prints while it loads (llama.cpp,
 * verbosity 4): `load_tensors: Vulkan0 model buffer size = 5.26 MiB`, `llama_kv_cache: CPU KV buffer size`,
 * `sched_reserve: CUDA0 compute buffer size`, `load_tensors: offloaded 5/5 layers to GPU`.
 */
import type { Measured } from '../../core/inputs.ts';

const BUFFER =
  /(\S+)\s+(model|KV|RS|compute|output)(?: \(\S+\))? buffer size\s*=\s*([0-9]+(?:\.[0-9]+)?)\s*MiB/;
const OFFLOADED = /offloaded (\d+)\/(\d+) layers to GPU/;
/** Host buffers: `CPU`, `CPU_Mapped`, `CPU_REPACK`, `AMX`, and pinned ones such as `CUDA_Host`. */
const HOST = /^(CPU(_\w+)?|AMX|BLAS|\w+_Host)$/;
/** Comes after the last buffer, in builds old and new. */
const LOADED = /model loaded|server is listening|all slots are idle/;
const MIB = 1024 * 1024;

export interface PlacementReader {
  line(text: string): void;
  /** The log has told the end of the load: before it the lines of a device may still be missing. */
  isComplete(): boolean;
  measured(): Measured;
}

/** Takes the log's lines in order; what they do not tell is null. */
export function placementReader(): PlacementReader {
  /** The same buffer told again (a reserve that is repeated) replaces the first. */
  const buffers = new Map<string, number>();
  let layers: { readonly on: number; readonly of: number } | null = null;
  let copies = 0;
  let complete = false;
  return {
    isComplete: () => complete,
    line(text) {
      if (LOADED.test(text)) complete = true;
      const offloaded = OFFLOADED.exec(text);
      if (offloaded !== null) layers = { on: Number(offloaded[1]), of: Number(offloaded[2]) };
      const buffer = BUFFER.exec(text);
      const [, device, what, size] = buffer ?? [];
      if (device === undefined || what === undefined || size === undefined) return;
      // Weights may come in several buffers of one device; caches of sliding windows too.
      const key =
        what === 'compute' || what === 'output' ? `${device} ${what}` : `${device} ${what} ${copies++}`;
      buffers.set(key, Number(size) * MIB);
    },
    measured() {
      let ram = 0;
      let vram = 0;
      let deviceWeights = 0;
      for (const [key, bytes] of buffers) {
        const [device, what] = key.split(' ');
        if (device === undefined || HOST.test(device)) ram += bytes;
        else {
          vram += bytes;
          if (what === 'model') deviceWeights += bytes;
        }
      }
      if (buffers.size === 0) return { placement: null, ram: null, vram: null };
      const where = placement(deviceWeights, layers);
      // The lines of a device may still be to come.
      const isSure = complete || where !== 'cpu';
      return { placement: isSure ? where : null, ram: Math.round(ram), vram: Math.round(vram) };
    },
  };
}

function placement(
  deviceWeights: number,
  layers: { readonly on: number; readonly of: number } | null,
): Measured['placement'] {
  if (deviceWeights === 0) return 'cpu';
  return layers !== null && layers.on < layers.of ? 'split' : 'gpu';
}
