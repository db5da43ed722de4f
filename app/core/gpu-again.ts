/** A second look at the machine's GPUs: a driver that was loaded since, a card that was plugged in. */
import type { Decision } from './changes.ts';
import type { DetectedGpu } from './gpu-detection.ts';
import type { Model } from './types.ts';

export interface LookedAgain {
  readonly detected: readonly DetectedGpu[];
  /** Those that can be used now and could not before. */
  readonly came: readonly DetectedGpu[];
}

/**
 * A card that is away for a moment is not forgotten, nor are the others renumbered meanwhile: while one that could be
 * used is missing the former list holds, with what is wrong now. Its failures take it out of service, not this look.
 */
export function lookedAgain(before: readonly DetectedGpu[], now: readonly DetectedGpu[]): LookedAgain {
  const usable = new Set(now.filter(isUsable).map(({ pci }) => pci));
  const well = new Set(before.filter(isWell).map(({ pci }) => pci));
  const isMissing = before.some((gpu) => isUsable(gpu) && !usable.has(gpu.pci));
  const detected = isMissing ? held(before, now) : now;
  return { detected, came: detected.filter((gpu) => isWell(gpu) && !well.has(gpu.pci)) };
}

function held(before: readonly DetectedGpu[], now: readonly DetectedGpu[]): readonly DetectedGpu[] {
  const seen = new Map(now.map((gpu) => [gpu.pci, gpu]));
  return before.map(({ away: _, ...gpu }) => {
    const found = seen.get(gpu.pci);
    return { ...gpu, problem: found?.problem ?? null, ...(found === undefined ? { away: true } : {}) };
  });
}

function isWell(gpu: DetectedGpu): boolean {
  return isUsable(gpu) && gpu.problem === null && gpu.away !== true;
}

function isUsable({ use }: DetectedGpu): boolean {
  return use !== 'unusable';
}

/** A load that would take a GPU if the machine had one: perhaps it has one by now. */
export function missGpu(out: Decision, model: Model): void {
  const wished = model.mode === 'auto' || model.mode === 'gpu';
  if (!wished || model.profiles.gpu !== undefined || !model.placements.includes('gpu')) return;
  out.effects.push({ type: 'look_for_gpus' });
}
