/** The words of the Connect view, one object a language, loaded with it. */
import { type ConnectText, enConnect } from './en-connect.ts';
import type { Language } from './format.ts';

const LOADERS: Readonly<Record<Language, () => Promise<ConnectText>>> = {
  en: async () => enConnect,
  ko: async () => (await import('./ko-connect.ts')).koConnect,
  zh: async () => (await import('./zh-connect.ts')).zhConnect,
};

/** Rejects where the server is away and the language was not loaded before. */
export function loadConnectText(language: Language): Promise<ConnectText> {
  return LOADERS[language]();
}
