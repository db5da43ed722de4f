/**
 * What the bare pass-through is to llama-swap, metric by metric, as measured in one run of both on two cores
 * (docs/measurements.md): CPU and first byte on 2026-11-30, requests and latency earlier, on a machine that did
 * nothing else. Where llama-swap is not on a machine, ratios to the pass-through become ratios to llama-swap by
 * these; without one of them there is no verdict.
 */
export const PASS_THROUGH_TO_LLAMA_SWAP: Readonly<Record<string, number>> = {
  'small 16 requests/s': 3.5,
  'small 16 CPU us': 0.6,
  'small 64 CPU us': 0.57,
  'one p50 ms': 0.59,
  'first byte p50 ms': 0.95,
  'streams CPU us': 0.87,
};
