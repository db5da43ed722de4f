/**
 * What a GGUF file's header says, and how many bytes its tensors take. Format: the GGUF specification,
 * versions 2 and 3; block sizes: the public table of ggml's tensor types.
 */

/** A metadata array or string that was longer than the reader keeps: only its length is known. */
export interface Skipped {
  /** Elements of an array, bytes of a string. */
  readonly count: number;
}

export type GgufValue = string | number | boolean | readonly number[] | readonly string[] | Skipped;

export interface GgufTensor {
  readonly name: string;
  /** ggml's type number. */
  readonly type: number;
  readonly dims: readonly number[];
  readonly bytes: number;
}

/** The header of one model: all shards of a split file together. */
export interface Gguf {
  readonly metadata: ReadonlyMap<string, GgufValue>;
  readonly tensors: readonly GgufTensor[];
  /** Bytes on disk, all shards. */
  readonly size: number;
}

interface Block {
  readonly name: string;
  readonly elements: number;
  readonly bytes: number;
}

/** ggml's type number -> elements and bytes of one block. */
const BLOCKS: ReadonlyMap<number, Block> = new Map(
  (
    [
      [0, 'F32', 1, 4],
      [1, 'F16', 1, 2],
      [2, 'Q4_0', 32, 18],
      [3, 'Q4_1', 32, 20],
      [6, 'Q5_0', 32, 22],
      [7, 'Q5_1', 32, 24],
      [8, 'Q8_0', 32, 34],
      [9, 'Q8_1', 32, 36],
      [10, 'Q2_K', 256, 84],
      [11, 'Q3_K', 256, 110],
      [12, 'Q4_K', 256, 144],
      [13, 'Q5_K', 256, 176],
      [14, 'Q6_K', 256, 210],
      [15, 'Q8_K', 256, 292],
      [16, 'IQ2_XXS', 256, 66],
      [17, 'IQ2_XS', 256, 74],
      [18, 'IQ3_XXS', 256, 98],
      [19, 'IQ1_S', 256, 50],
      [20, 'IQ4_NL', 32, 18],
      [21, 'IQ3_S', 256, 110],
      [22, 'IQ2_S', 256, 82],
      [23, 'IQ4_XS', 256, 136],
      [24, 'I8', 1, 1],
      [25, 'I16', 1, 2],
      [26, 'I32', 1, 4],
      [27, 'I64', 1, 8],
      [28, 'F64', 1, 8],
      [29, 'IQ1_M', 256, 56],
      [30, 'BF16', 1, 2],
      [34, 'TQ1_0', 256, 54],
      [35, 'TQ2_0', 256, 66],
      [39, 'MXFP4', 32, 17],
      [40, 'NVFP4', 64, 36],
      [41, 'Q1_0', 128, 18],
      [42, 'Q2_0', 64, 18],
    ] as const
  ).map(([type, name, elements, bytes]) => [type, { name, elements, bytes }]),
);

/** Name of a tensor type (`Q4_K`), or undefined for one that this table does not know. */
export function typeName(type: number): string | undefined {
  return BLOCKS.get(type)?.name;
}

/**
 * Bytes of a tensor: dims[0] / block elements * block bytes * the other dims. Undefined for an unknown
 * type or a first dimension that is no multiple of the block: never 0, so that nothing is left out.
 */
export function tensorBytes(type: number, dims: readonly number[]): number | undefined {
  const block = BLOCKS.get(type);
  if (block === undefined) return undefined;
  const [row = 1, ...rest] = dims;
  if (row % block.elements !== 0) return undefined;
  const bytes = rest.reduce((product, n) => product * n, (row / block.elements) * block.bytes);
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}

/** Bytes of one element of a KV cache of this type (`f16`, `q8_0`), or undefined for an unknown name. */
export function elementBytes(name: string): number | undefined {
  const upper = name.toUpperCase();
  for (const block of BLOCKS.values()) if (block.name === upper) return block.bytes / block.elements;
  return undefined;
}
