/** Only a plain text goes on at another instance. */
import type { Transcript } from '../transcript.ts';
import type { Finding } from './finding.ts';
import { sentOf } from './sent.ts';

const SEAM = '\n: llamastead attempt=';
/** What asks for more than a plain text. */
const MORE = ['tools', 'response_format'];

export function checkGoesOn(transcript: Transcript): Finding[] {
  const { id, raw, body, headers } = transcript;
  const seam = `\n${raw}`.lastIndexOf(SEAM);
  const before = sentOf({ ...transcript, raw: raw.slice(0, Math.max(0, seam)) });
  if (before === 'nothing') return [];
  const why = [
    ...(before === 'more' ? ['more than text was sent'] : []),
    ...MORE.filter((key) => body[key] !== undefined).map((key) => `it asks for ${key}`),
    ...(headers['llamastead-replay'] === 'never' ? ['its client said never'] : []),
  ];
  return why.map((what) => ({ rule: 'only a plain text goes on', request: id, what }));
}
