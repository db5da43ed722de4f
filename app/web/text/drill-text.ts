/** The words of drills, one object a language, loaded with the view that needs them. */
import { type DrillText, enDrill } from './en-drill.ts';
import type { Language } from './format.ts';

const LOADERS: Readonly<Record<Language, () => Promise<DrillText>>> = {
  en: async () => enDrill,
  ko: async () => (await import('./ko-drill.ts')).koDrill,
  zh: async () => (await import('./zh-drill.ts')).zhDrill,
};

/** Rejects where the server is away and the language was not loaded before. */
export function loadDrillText(language: Language): Promise<DrillText> {
  return LOADERS[language]();
}
