/**
 * A number that a request carries through the program under test into the log of the llama-server that works on it:
 * the server tells no request's id, but the sampling settings of each one. It is a `top_k`, the one such setting that
 * all paths pass on.
 */
/** More tokens than a model knows: all are kept, as without it. */
const FIRST = 1_000_000;

/** @param number of the request, from 0 */
export function withMark(body: Readonly<Record<string, unknown>>, number: number): Record<string, unknown> {
  return { ...body, top_k: FIRST + number };
}

/** The mark of a body that was sent; null: it has none. */
export function markOf(body: Readonly<Record<string, unknown>>): number | null {
  return asMark(Number(body['top_k']));
}

/** @param topK as a llama-server logs it */
export function asMark(topK: number): number | null {
  return topK >= FIRST ? topK : null;
}
