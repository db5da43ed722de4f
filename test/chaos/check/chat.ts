/** A chat's stream that went on after a failure looks like one stream. */
import type { Transcript } from '../transcript.ts';
import { attemptsTold, MOST_ATTEMPTS } from './attempts.ts';
import type { Finding } from './finding.ts';
import { type Chunk, chunksOf, readEvents } from './stream.ts';

export function checkChat(transcript: Transcript): Finding[] {
  if (transcript.path !== '/v1/chat/completions' || transcript.body['stream'] !== true) return [];
  const found: Finding[] = [];
  const wrong = (rule: string, what: string) => found.push({ rule, request: transcript.id, what });
  const { events } = readEvents(transcript.raw);
  const chunks = chunksOf(events);
  const choices = chunks.flatMap((chunk) => chunk.choices ?? []);

  // Not `created`: llama-server itself counts it on from chunk to chunk.
  for (const key of ['id', 'model'] as const) {
    const values = new Set(chunks.map((chunk) => chunk[key]));
    if (values.size > 1) wrong('one stream, one identity', `${key}: ${[...values].join(', ')}`);
  }
  const roles = choices.filter(({ delta }) => delta.role !== undefined).length;
  if (roles > 1) wrong('one role delta', `${roles} of them`);
  const finishes = choices.filter((choice) => choice.finish_reason !== null).length;
  const done = events.some(({ data }) => data === '[DONE]');
  if (finishes > 1 || (done && finishes === 0)) wrong('one finish reason', `${finishes} of them`);
  found.push(...checkUsage(transcript, chunks), ...checkTools(transcript, chunks));
  const attempts = attemptsTold(transcript);
  if (attempts > MOST_ATTEMPTS) wrong('attempts are bounded', `${attempts} attempts`);
  return found;
}

function checkUsage({ id, body }: Transcript, chunks: readonly Chunk[]): Finding[] {
  const wrong = (what: string) => [{ rule: 'usage adds up', request: id, what }];
  const usages = chunks.flatMap((chunk) => chunk.usage ?? []);
  if (usages.length > 1) return wrong(`${usages.length} usages`);
  const [usage] = usages;
  if (usage === undefined) return [];
  if (usage.prompt_tokens + usage.completion_tokens !== usage.total_tokens)
    return wrong(JSON.stringify(usage));
  const most = Number(body['max_tokens']);
  return usage.completion_tokens <= most ? [] : wrong(`${usage.completion_tokens} tokens of at most ${most}`);
}

function checkTools({ id }: Transcript, chunks: readonly Chunk[]): Finding[] {
  const ids = chunks
    .flatMap((chunk) => chunk.choices ?? [])
    .flatMap((choice) => choice.delta.tool_calls ?? [])
    .filter((call) => call.id !== undefined && call.id !== '');
  const indexes = new Set(ids.map((call) => call.index));
  if (ids.length === indexes.size) return [];
  return [
    {
      rule: 'no tool call twice',
      request: id,
      what: ids.map((call) => `${call.index}: ${call.id}`).join(', '),
    },
  ];
}
