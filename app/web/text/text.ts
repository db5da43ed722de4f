/**
 * The page's words, one object a language. A missing or misspelt text does not compile: every language has
 * the type of the English one.
 */
import type { Text } from './en.ts';
import { en } from './en.ts';
import type { Language } from './format.ts';
import { LANGUAGES } from './format.ts';
import { ko } from './ko.ts';
import { zh } from './zh.ts';

const TEXTS: Readonly<Record<Language, Text>> = { en, ko, zh };

export const LANGUAGE_NAMES: Readonly<Record<Language, string>> = { en: 'English', ko: '한국어', zh: '中文' };

export function textOf(language: Language): Text {
  return TEXTS[language];
}

export function isLanguage(value: unknown): value is Language {
  return LANGUAGES.some((language) => language === value);
}

/** The first of a browser's languages that the page speaks (`ko-KR` is `ko`); English where none is. */
export function pickLanguage(wanted: readonly string[]): Language {
  for (const tag of wanted) {
    const base = tag.toLowerCase().split('-')[0];
    if (isLanguage(base)) return base;
  }
  return 'en';
}
