/**
 * Images that a container could not be made from, told as problems until they are on the engine or nobody wants
 * them any more. Docker's events tell only of images that it has, so these are looked for while there are any.
 */
import type { Problem } from '../../core/types.ts';
import type { Clock, ContainersInput } from '../../ports.ts';
import { imageProblem } from './engine-problem.ts';
import type { ConfiguredImages } from './options.ts';
import { alarm } from './pause.ts';

export interface MissingImages {
  tell(missing: Problem): void;
  /** Tells of those in use that are not there, before a load needs them. Each is asked for until it was seen once. */
  check(): Promise<void>;
  close(): void;
}

export interface MissingImagesParts {
  readonly clock: Clock;
  /** Between two looks, ms. */
  readonly pause: number;
  /** Whether it is on the engine; throws Docker's error. */
  readonly has: (image: string) => Promise<boolean>;
  readonly engine: string;
  readonly configured: () => ConfiguredImages;
  readonly report: (input: ContainersInput) => void;
  /** After some are missing no more. */
  readonly changed: () => void;
}

export function missingImages(parts: MissingImagesParts): MissingImages {
  const told = new Set<string>();
  const seen = new Set<string>();
  let closed = false;
  const next = alarm(parts.clock, () => void look());

  async function isMissing(image: string): Promise<boolean> {
    if (!parts.configured().all.includes(image)) return false;
    // An engine that cannot be asked says nothing.
    return !(await parts.has(image).catch(() => false));
  }

  async function look(): Promise<void> {
    const before = told.size;
    for (const image of [...told]) {
      if (closed || (await isMissing(image)) || !told.delete(image)) continue;
      parts.report({ type: 'problem_gone', code: 'image_missing', about: image });
    }
    if (told.size < before) parts.changed();
    if (told.size > 0 && !closed) next.arm(parts.pause);
  }

  function tell(missing: Problem): void {
    if (closed || missing.about === undefined) return;
    if (told.size === 0) next.arm(parts.pause);
    told.add(missing.about);
    parts.report({ type: 'problem_seen', problem: missing });
  }

  return {
    tell,
    async check() {
      for (const image of parts.configured().used(parts.engine)) {
        if (seen.has(image) || told.has(image)) continue;
        // An engine that cannot be asked says nothing.
        const there = await parts.has(image).catch(() => null);
        if (there === true) seen.add(image);
        else if (there === false) tell(imageProblem(image, parts.engine));
      }
    },
    close() {
      closed = true;
      next.cancel();
    },
  };
}
