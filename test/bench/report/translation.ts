/**
 * What the bare pass-through is to llama-swap, metric by metric, as measured in one run of both on two cores
 * (docs/measurements.md). Where llama-swap is not on a machine, ratios to the pass-through become ratios to
 * llama-swap by these.
 */
export const PASS_THROUGH_TO_LLAMA_SWAP: Readonly<Record<string, number>> = {};
