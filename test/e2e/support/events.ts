/** Follows `/admin/events/stream`, so that tests wait for facts and not for time. */
import type { Fact } from '../../../app/core/facts.ts';
import { PATIENCE_MS } from '../../support/until.ts';

export interface Following {
  readonly facts: Fact[];
  /** The first fact not given yet that matches; waits for it to come. Rejects when it does not in two minutes. */
  next(matches: (fact: Fact) => boolean): Promise<Fact>;
  close(): void;
}

/** `before`: facts of a former run, which are not given again. */
export async function follow(url: string, before: readonly Fact[]): Promise<Following> {
  const facts = [...before];
  const given = new Set<number>(facts.map((fact) => fact.seq));
  const waiting = new Set<{ matches: (fact: Fact) => boolean; resolve: (fact: Fact) => void }>();
  const aborter = new AbortController();
  const since = facts.at(-1)?.seq ?? 0;
  const response = await fetch(`${url}/admin/events/stream?since=${since}`, { signal: aborter.signal });
  void read(response, (fact) => {
    if (facts.some((known) => known.seq === fact.seq)) throw new Error(`event ${fact.seq} was told twice`);
    facts.push(fact);
    for (const one of waiting) {
      if (!one.matches(fact) || given.has(fact.seq)) continue;
      given.add(fact.seq);
      waiting.delete(one);
      one.resolve(fact);
    }
  }).catch((error: unknown) => {
    if (!aborter.signal.aborted) console.error('the event stream broke:', error);
  });
  return {
    facts,
    next(matches) {
      const known = facts.find((fact) => !given.has(fact.seq) && matches(fact));
      if (known !== undefined) {
        given.add(known.seq);
        return Promise.resolve(known);
      }
      return new Promise((resolve, reject) => {
        const one = { matches, resolve };
        waiting.add(one);
        const giveUp = () => {
          if (!waiting.delete(one)) return;
          const told = facts.slice(-20).map(({ seq, type, model }) => `#${seq} ${type} ${model ?? ''}`);
          reject(new Error(`no such event in ${PATIENCE_MS / 1000} s: ${matches}\n${told.join('\n')}`));
        };
        setTimeout(giveUp, PATIENCE_MS).unref();
      });
    },
    close: () => aborter.abort(),
  };
}

async function read(response: Response, told: (fact: Fact) => void): Promise<void> {
  let text = '';
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk;
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const event = text.slice(0, end);
      text = text.slice(end + 2);
      const id = /^id: ?(\d+)$/m.exec(event);
      const data = /^data: ?(.*)$/m.exec(event)?.[1];
      if (id !== null && data !== undefined) told(JSON.parse(data) as Fact);
    }
  }
}
