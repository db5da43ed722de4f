/** The page's state: signals that views read, and what is computed from them. */
import { batch, computed, signal } from '@preact/signals';
import type { View } from '../../core/view.ts';
import { type Announcer, QUIET } from '../logic/announce.ts';
import { EMPTY_FEED, type Feed } from '../logic/feed.ts';
import { headline } from '../logic/headline.ts';
import { isAway, type Link } from '../logic/link.ts';
import { parseRoute, type Route } from '../logic/route.ts';
import { en, type Text } from '../text/en.ts';
import { createFormat, type Language, zoneOffset } from '../text/format.ts';
import { isLanguage, loadText } from '../text/text.ts';

const LANGUAGE_KEY = 'llamastead.language';

export const feed = signal<Feed>(EMPTY_FEED);
export const link = signal<Link>({ kind: 'connecting', since: Date.now() });
export const announcer = signal<Announcer>(QUIET);
/** What the live region says. */
export const announcement = signal('');
/** This browser's clock, Unix ms; moves once a second while the page is seen. */
export const clock = signal(Date.now());
export const route = signal<Route>(parseRoute(location.hash));
export const language = signal<Language>('en');
export const text = signal<Text>(en);

export const view = computed(() => feed.value.view);
export const facts = computed(() => feed.value.facts);

const zone = computed(() => (view.value === null ? null : zoneOffset(view.value.time)));
export const format = computed(() => createFormat(language.value, zone.value));

/** The server's clock, Unix ms: countdowns are right also where this browser's clock is not. */
export const serverNow = computed(() => {
  const { view: seen, viewAt } = feed.value;
  return seen === null ? clock.value : clock.value + Date.parse(seen.time) - viewAt;
});

/** The server is away: data is old, buttons are off. */
export const away = computed(() => isAway(link.value, clock.value));

/** The first snapshot that this page saw: its version, and since when it has looked. */
export const firstView = signal<View | null>(null);
export const updated = computed(
  () => firstView.value !== null && view.value !== null && view.value.version !== firstView.value.version,
);

export const sentence = computed(() =>
  view.value === null ? null : headline(view.value, text.value, format.value),
);

/** Language and words change together; where the words can't be had, all stays as it was. */
export async function showLanguage(chosen: Language): Promise<void> {
  const words = await loadText(chosen);
  batch(() => {
    language.value = chosen;
    text.value = words;
  });
}

/** A person's choice: kept in this browser. */
export async function chooseLanguage(chosen: Language): Promise<void> {
  await showLanguage(chosen);
  try {
    localStorage.setItem(LANGUAGE_KEY, chosen);
  } catch {
    // Storage can be switched off; the choice then lasts as long as the page.
  }
}

/**
 * The choice made in this browser, else the language that the server wrote into the page: its setting, or
 * what Accept-Language asked for.
 */
export function firstLanguage(): Language {
  try {
    const kept = localStorage.getItem(LANGUAGE_KEY);
    if (isLanguage(kept)) return kept;
  } catch {
    // As above.
  }
  const served = document.documentElement.lang;
  return isLanguage(served) ? served : 'en';
}
