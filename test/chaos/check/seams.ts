/**
 * What the client saw before a seam and after it is what the placements say by themselves: the same requests, built
 * here anew from what the client saw and sent straight to the llama-servers, give the same texts. Only where an
 * instance has one slot and the client wanted nothing read from former prompts: both change the batches, and with them
 * the arithmetic.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { inspect } from 'node:util';
import type { Controller } from '../../e2e/support/controller.ts';
import { oneSlot } from '../home.ts';
import type { Transcript } from '../transcript.ts';
import { within } from '../within.ts';
import { type Server, textAgain } from './again.ts';
import { claimsOf, judge } from './claims.ts';
import type { Finding } from './finding.ts';
import { serverOf } from './slots.ts';

export interface SeamCounts {
  /** Seams with text on both sides, in streams of all models. */
  readonly met: number;
  /** Of them, those whose text after the seam was asked for again. */
  readonly compared: number;
  /** Texts before a first seam that were asked for again. */
  readonly begins: number;
  readonly findings: readonly Finding[];
}

const RULE = { rule: 'seams are compared', request: '' };
const LOAD_MS = 120_000;
const LOOK_MS = 1_000;

/**
 * @param until milliseconds of `performance.now()`: what is not asked by then stays uncompared, as does what a
 *   placement that the strikes left out of service would say
 */
export async function checkSeams(
  home: Controller,
  transcripts: readonly Transcript[],
  until: number,
): Promise<SeamCounts> {
  const all = transcripts.flatMap(claimsOf);
  const claims = all.filter(({ model, transcript }) => oneSlot(model) && isCold(transcript));
  const groups = [...Map.groupBy(claims, ({ model, placement }) => `${model} ${placement}`).values()];
  const findings: Finding[] = [];
  let compared = 0;
  let begins = 0;
  for (const [index, group] of groups.entries()) {
    const [first] = group;
    if (first === undefined) continue;
    // Each group gets its part of the time that is left.
    const share = performance.now() + (until - performance.now()) / (groups.length - index);
    try {
      const server = await loaded(home, first.model, first.placement, share);
      if (server === null) continue;
      for (const claim of group) {
        if (performance.now() > share) break;
        findings.push(...judge(claim, await textAgain(server, claim.transcript.body, claim.before)));
        if (claim.before === '') begins += 1;
        else compared += 1;
      }
    } catch (error) {
      // A finding like others: what was found before has to be told too.
      findings.push({ ...RULE, what: `${first.model} on the ${first.placement}: ${inspect(error)}` });
    }
  }
  return { met: all.filter(({ before }) => before !== '').length, compared, begins, findings };
}

/** What was read from former prompts is computed in other batches. */
function isCold({ body }: Transcript): boolean {
  return body['cache_prompt'] === false;
}

/** Null: the placement is still out of service after the last strikes, when the time is over. */
async function loaded(
  home: Controller,
  model: string,
  placement: string,
  until: number,
): Promise<Server | null> {
  const post = (path: string, body: object) => within(LOAD_MS, path, home.post(path, body));
  const mode = await post(`/admin/models/${model}/mode?wait=1`, { mode: placement });
  if (!mode.ok) throw new Error(`mode of ${model}: ${mode.status} ${await mode.text()}`);
  for (;;) {
    const load = await post(`/admin/models/${model}/load?wait=1`, {});
    if (load.ok) break;
    const why = await load.text();
    if (!why.includes('"load_failed"')) throw new Error(`load of ${model}: ${load.status} ${why}`);
    if (performance.now() > until) return null;
    await pause(LOOK_MS);
  }
  const running = await home.running();
  const names = await home.containers(model, placement);
  const found = names.find((name) => running.includes(name));
  if (found === undefined) throw new Error(`no ${placement} container of ${model} runs`);
  return serverOf(home.docker, found);
}
