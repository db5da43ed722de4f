/** Words of a rarer view, which the first view does not load. */
import { effect, type ReadonlySignal, signal } from '@preact/signals';
import type { Language } from '../text/format.ts';
import { language } from './app.ts';

export interface RareText<T> {
  /** English until the words of the page's language have come. */
  readonly words: ReadonlySignal<T>;
  /** Follows the page's language; where words can't be had, the last ones stay. The returned function ends it. */
  readonly follow: () => () => void;
}

export function rareText<T>(english: T, load: (language: Language) => Promise<T>): RareText<T> {
  const words = signal(english);
  const follow = () =>
    effect(() => {
      const wanted = language.value;
      load(wanted)
        .then((found) => {
          if (language.value === wanted) words.value = found;
        })
        .catch(() => {});
    });
  return { words, follow };
}
