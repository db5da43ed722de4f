import type { FactBody } from '../../app/core/facts.ts';

export function fact(n: number): FactBody {
  return { type: 'model_loaded', model: `m${n}`, seconds: n };
}

export function many(count: number, from = 1): FactBody[] {
  return Array.from({ length: count }, (_, index) => fact(from + index));
}
