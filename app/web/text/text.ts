/**
 * The page's words, one object a language, loaded when it is chosen. A missing or misspelt text does not
 * compile: every language has the type of the English one.
 */
import type { Text } from './en.ts';
import { en } from './en.ts';
import type { Language } from './format.ts';
import { LANGUAGES } from './format.ts';

export const LANGUAGE_NAMES: Readonly<Record<Language, string>> = { en: 'English', ko: '한국어', zh: '中文' };

const LOADERS: Readonly<Record<Language, () => Promise<Text>>> = {
  en: async () => en,
  ko: async () => (await import('./ko.ts')).ko,
  zh: async () => (await import('./zh.ts')).zh,
};

/** Rejects where the server is away and the language was not loaded before. */
export function loadText(language: Language): Promise<Text> {
  return LOADERS[language]();
}

export function isLanguage(value: unknown): value is Language {
  return LANGUAGES.some((language) => language === value);
}
