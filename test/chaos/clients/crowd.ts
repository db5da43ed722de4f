/** Clients side by side, each sending one request after the other until it is told to stop. */
import { Agent } from 'node:http';
import type { Random } from '../random.ts';
import type { Transcript } from '../transcript.ts';
import { type Live, live, send } from './client.ts';
import { nextPlan, nextStory, type Plan } from './kinds.ts';
import { withMark } from './mark.ts';

export interface Crowd {
  /** Requests that run now. */
  unfinished(): readonly Live[];
  /** No new requests from now on; resolves with all transcripts when the last request has ended. */
  stop(): Promise<readonly Transcript[]>;
}

export interface CrowdOptions {
  readonly url: string;
  readonly clients: number;
  /** For clients of all kinds; each is as likely as it stands in the list. */
  readonly models: readonly string[];
  /** For the clients that ask for long texts. */
  readonly storyModels: readonly string[];
  readonly random: Random;
}

/** Every fourth client asks for long texts and nothing else. */
const STORYTELLERS = 4;
/** When a request is sent a second time, in milliseconds after the first. */
const AGAIN_MS = [10, 3000] as const;

export function startCrowd({ url, clients, models, storyModels, random }: CrowdOptions): Crowd {
  const transcripts: Transcript[] = [];
  const unfinished = new Set<Live>();
  let stopped = false;
  let next = 1;

  async function ask(id: string, plan: Plan, agent: Agent): Promise<Transcript> {
    const one = live(id, plan);
    unfinished.add(one);
    const transcript = await send(url, one, agent);
    unfinished.delete(one);
    return transcript;
  }

  async function client(own: Random, tellsStories: boolean): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    while (!stopped) {
      const number = next++;
      const id = `chaos-${number}`;
      const drawn = tellsStories ? nextStory(own, storyModels) : nextPlan(own, models);
      const plan = { ...drawn, body: withMark(drawn.body, number) };
      const [transcript] = await Promise.all([
        ask(id, plan, agent),
        plan.twice ? again(id, plan, own.between(...AGAIN_MS)) : null,
      ]);
      transcripts.push(transcript);
      // Refused at once: the controller is away, or full. A person would wait a moment too.
      if (transcript.status !== 200) await pause(own.between(50, 1500));
    }
    agent.destroy();
  }

  /** The same request on another connection, a while later: the answer runs, or has ended. */
  async function again(id: string, plan: Plan, after: number): Promise<void> {
    await pause(after);
    const agent = new Agent();
    transcripts.push(await ask(`${id}-again`, plan, agent));
    agent.destroy();
  }

  const all = Promise.all(
    Array.from({ length: clients }, (_, index) => client(random.branch(), index % STORYTELLERS === 0)),
  );
  return {
    unfinished: () => [...unfinished],
    async stop() {
      stopped = true;
      await all;
      return transcripts;
    },
  };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
