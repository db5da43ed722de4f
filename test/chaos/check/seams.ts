/**
 * What follows a seam is what the placement would have said by itself: the same resume request, built here anew
 * from what the client saw and sent straight to the llama-server, gives the same text. Only where an instance
 * has one slot: batches of several change the arithmetic.
 */
import type { Controller } from '../../e2e/support/controller.ts';
import { MODELS } from '../home.ts';
import type { Transcript } from '../transcript.ts';
import type { Finding } from './finding.ts';
import { serverOf } from './slots.ts';
import { readEvents, textOf } from './stream.ts';

export interface Seam {
  readonly transcript: Transcript;
  readonly model: string;
  readonly placement: string;
  readonly before: string;
  readonly after: string;
}

/** The seams that can be compared, in streams that ended well. */
export function seamsOf(transcripts: readonly Transcript[]): readonly Seam[] {
  return transcripts.flatMap((transcript) => {
    const { events } = readEvents(transcript.raw);
    const at = events.findIndex(({ comments }) =>
      comments.some((text) => text.startsWith('llamastead attempt=')),
    );
    const placement = /placement=(\w+)/.exec(events[at]?.comments.join(' ') ?? '')?.[1];
    const done = events.some(({ data }) => data === '[DONE]');
    const model = String(transcript.body['model']);
    const single = Object.entries(MODELS).some(([name, { parallel }]) => name === model && parallel === 1);
    if (placement === undefined || !done || !single) return [];
    const before = textOf(events.slice(0, at));
    if (before === '') return [];
    return [{ transcript, model, placement, before, after: textOf(events.slice(at)) }];
  });
}

/** Sends each resume request again, to the placement that answered it. */
export async function checkSeams(home: Controller, seams: readonly Seam[]): Promise<Finding[]> {
  const found: Finding[] = [];
  for (const { model, placement } of placementsOf(seams)) {
    await loaded(home, model, placement);
    const server = await serverOf(home.docker, await home.container(model, placement));
    for (const seam of seams.filter((one) => one.model === model && one.placement === placement)) {
      const expected = await again(server, seam);
      if (expected === seam.after) continue;
      const what = `${JSON.stringify(seam.after.slice(0, 80))}, not ${JSON.stringify(expected.slice(0, 80))}`;
      found.push({ rule: 'a seam is right', request: seam.transcript.id, what });
    }
  }
  return found;
}

function placementsOf(seams: readonly Seam[]): { model: string; placement: string }[] {
  const keys = new Map(seams.map(({ model, placement }) => [`${model} ${placement}`, { model, placement }]));
  return [...keys.values()];
}

async function loaded(home: Controller, model: string, placement: string): Promise<void> {
  for (const [path, body] of [
    [`/admin/models/${model}/mode?wait=1`, { mode: placement }],
    [`/admin/models/${model}/load?wait=1`, {}],
  ] as const) {
    const answer = await home.post(path, body);
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  }
}

async function again(server: { url: string; key: string }, { transcript, before }: Seam): Promise<string> {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${server.key}` };
  const post = async (path: string, body: unknown) => {
    const answer = await fetch(`${server.url}${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return answer.text();
  };
  const { tokens } = JSON.parse(await post('/tokenize', { content: before })) as { tokens: number[] };
  const { body } = transcript;
  const raw = await post('/v1/chat/completions', {
    ...body,
    messages: [...(body['messages'] as unknown[]), { role: 'assistant', content: before }],
    max_tokens: Number(body['max_tokens']) - tokens.length,
    cache_prompt: false,
  });
  return textOf(readEvents(raw).events);
}
