/** What the controller holds does not grow with what it has served. */
import type { Finding } from './finding.ts';

/** Resident, with twenty clients and long texts; at rest it holds half of it. */
const MOST_MIB = 256;
const MIB = 2 ** 20;
const NAME = { rule: "the controller's memory stays", request: '' };

/** `samples`: resident bytes, as they were from second to second. */
export function memoryStays(samples: readonly number[]): Finding[] {
  if (samples.length === 0) return [{ ...NAME, what: 'it was never seen' }];
  const most = Math.max(...samples) / MIB;
  if (most <= MOST_MIB) return [];
  return [{ ...NAME, what: `it held ${Math.round(most)} MiB, more than ${MOST_MIB}` }];
}
