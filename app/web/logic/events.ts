/** Choosing and arranging facts for reading. */
import type { Fact, FactType } from '../../core/facts.ts';

export const EVENT_GROUPS = [
  'failover',
  'load',
  'trouble',
  'memory',
  'settings',
  'download',
  'broker',
  'drill',
] as const;
export type EventGroup = (typeof EVENT_GROUPS)[number];

export const GROUP_OF: Readonly<Record<FactType, EventGroup>> = {
  model_loading: 'load',
  model_loaded: 'load',
  model_unloading: 'load',
  model_unloaded: 'load',
  load_failed: 'trouble',
  request_failed: 'trouble',
  failover: 'failover',
  failover_failed: 'failover',
  recovered: 'failover',
  backend_crashed: 'trouble',
  out_of_memory: 'trouble',
  gpu_lost: 'trouble',
  gpu_back: 'failover',
  cpu_fallback_detected: 'trouble',
  ram_pressure: 'memory',
  ram_relieved: 'memory',
  vram_pressure: 'memory',
  vram_relieved: 'memory',
  load_refused: 'memory',
  duplicate_model: 'memory',
  drill_started: 'drill',
  drill_finished: 'drill',
  mode_changed: 'settings',
  setting_changed: 'settings',
  config_reloaded: 'settings',
  image_pulling: 'download',
  image_pulled: 'download',
  image_pull_failed: 'download',
  download_finished: 'download',
  download_failed: 'download',
  broker_lost: 'broker',
  broker_back: 'broker',
};

/** How an event looks: its icon says what the colour says. */
export type EventTone = 'good' | 'care' | 'bad' | 'plain';

const TONES: Readonly<Partial<Record<FactType, EventTone>>> = {
  model_loaded: 'good',
  recovered: 'good',
  gpu_back: 'good',
  ram_relieved: 'good',
  vram_relieved: 'good',
  image_pulled: 'good',
  download_finished: 'good',
  broker_back: 'good',
  failover: 'care',
  backend_crashed: 'care',
  gpu_lost: 'care',
  out_of_memory: 'care',
  load_refused: 'care',
  ram_pressure: 'care',
  vram_pressure: 'care',
  duplicate_model: 'care',
  broker_lost: 'care',
  cpu_fallback_detected: 'bad',
  failover_failed: 'bad',
  load_failed: 'bad',
  request_failed: 'bad',
  image_pull_failed: 'bad',
  download_failed: 'bad',
};

export function toneOf(type: FactType): EventTone {
  return TONES[type] ?? 'plain';
}

export interface EventFilter {
  /** Empty: all. */
  readonly model: string;
  readonly group: EventGroup | '';
  readonly search: string;
}

/** One line to read: a fact, with its recovery where a failover has one. */
export interface Entry {
  readonly fact: Fact;
  readonly recovery: Fact | null;
}

/** Facts of a type that a newer page or server knows and this one does not are left out. */
export function isKnown(fact: Fact): boolean {
  return fact.type in GROUP_OF;
}

/**
 * Newest first. A recovery is told with the failover that it ended; `phrase` gives the words that the
 * search looks into, beside model, type and ids.
 */
export function entries(
  facts: readonly Fact[],
  filter: EventFilter,
  phrase: (fact: Fact) => string,
): readonly Entry[] {
  const needle = filter.search.trim().toLocaleLowerCase();
  const found: Entry[] = [];
  for (const entry of fold(facts)) {
    const { fact } = entry;
    if (filter.model !== '' && fact.model !== filter.model) continue;
    if (filter.group !== '' && GROUP_OF[fact.type] !== filter.group) continue;
    if (needle !== '' && !haystack(entry, phrase).includes(needle)) continue;
    found.push(entry);
  }
  return found;
}

function haystack({ fact, recovery }: Entry, phrase: (fact: Fact) => string): string {
  const ids = [fact.requestId, ...(fact.requestIds ?? [])].filter((id) => id !== undefined);
  const words = [
    phrase(fact),
    recovery === null ? '' : phrase(recovery),
    fact.type,
    fact.model ?? '',
    ...ids,
  ];
  return words.join(' ').toLocaleLowerCase();
}

/** Newest first, each recovery folded into the newest failover of its model before it. */
export function fold(facts: readonly Fact[]): readonly Entry[] {
  const waiting = new Map<string, Fact>();
  const folded: Entry[] = [];
  for (let i = facts.length - 1; i >= 0; i--) {
    const fact = facts[i];
    if (fact === undefined || !isKnown(fact)) continue;
    const model = fact.model ?? '';
    if (fact.type === 'recovered') {
      const unused = waiting.get(model);
      if (unused !== undefined) folded.push({ fact: unused, recovery: null });
      waiting.set(model, fact);
      continue;
    }
    if (fact.type === 'failover') {
      folded.push({ fact, recovery: waiting.get(model) ?? null });
      waiting.delete(model);
      continue;
    }
    folded.push({ fact, recovery: null });
  }
  for (const fact of waiting.values()) folded.push({ fact, recovery: null });
  return folded.sort((a, b) => b.fact.seq - a.fact.seq);
}
