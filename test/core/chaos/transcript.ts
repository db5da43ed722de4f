import type { Transcript } from '../../chaos/transcript.ts';

/** What a client saw of a chat, ended well in one attempt, save what is given. */
export function transcriptOf(given: Partial<Transcript> = {}): Transcript {
  return {
    ...{ id: 'chaos-1', kind: 'stream', path: '/v1/chat/completions', body: {}, headers: {} },
    ...{ sentAt: 0, endedAt: 10_000, status: 200, raw: '', validUtf8: true, end: { kind: 'whole' } },
    answerHeaders: { 'llamastead-attempts': '1', 'llamastead-placement': 'gpu' },
    ...given,
  };
}
