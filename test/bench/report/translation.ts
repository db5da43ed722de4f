/**
 * What the bare pass-through is to llama-swap, metric by metric, as measured in one run of both on two cores
 * (docs/measurements.md). Where llama-swap is not on a machine, ratios to the pass-through become ratios to
 * llama-swap by these; without one of them there is no verdict.
 */
export const PASS_THROUGH_TO_LLAMA_SWAP: Readonly<Record<string, number>> = {
  'small 16 requests/s': 3.5,
  'one p50 ms': 0.59,
};
