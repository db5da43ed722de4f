/** The languages of the page as a browser asks for them, with the page's own words. */
import { loadConnectText } from '../../../app/web/text/connect-text.ts';
import type { Text } from '../../../app/web/text/en.ts';
import type { ConnectText } from '../../../app/web/text/en-connect.ts';
import { createFormat, type Format, LANGUAGES, type Language } from '../../../app/web/text/format.ts';
import { loadText } from '../../../app/web/text/text.ts';

export interface Spoken {
  readonly language: Language;
  /** As a browser's setting. */
  readonly locale: string;
  readonly words: Text;
  /** Those of the Connect view. */
  readonly connect: ConnectText;
  /** Of a home in Korea, as the scripted one is. */
  readonly format: Format;
}

const LOCALES: Readonly<Record<Language, string>> = { en: 'en-GB', ko: 'ko-KR', zh: 'zh-CN' };

export const SPOKEN: readonly Spoken[] = await Promise.all(
  LANGUAGES.map(async (language) => ({
    language,
    locale: LOCALES[language],
    words: await loadText(language),
    connect: await loadConnectText(language),
    format: createFormat(language, 9 * 60),
  })),
);

/** The words of a button or a link that are followed by a model's name. */
export function labelled(label: string, model: string): string {
  return `${label}: ${model}`;
}
