/** Clients side by side, each sending one request after the other until it is told to stop. */
import { Agent } from 'node:http';
import type { Random } from '../random.ts';
import type { Transcript } from '../transcript.ts';
import { send } from './client.ts';
import { nextPlan, type Plan } from './kinds.ts';

export interface Crowd {
  /** No new requests from now on; resolves with all transcripts when the last request has ended. */
  stop(): Promise<readonly Transcript[]>;
}

export interface CrowdOptions {
  readonly url: string;
  readonly clients: number;
  readonly models: readonly string[];
  readonly random: Random;
}

/** When a request is sent a second time, in milliseconds after the first. */
const AGAIN_MS = [10, 3000] as const;

export function startCrowd({ url, clients, models, random }: CrowdOptions): Crowd {
  const transcripts: Transcript[] = [];
  let stopped = false;
  let next = 1;

  async function client(own: Random): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    while (!stopped) {
      const id = `chaos-${next++}`;
      const plan = nextPlan(own, models);
      const [transcript] = await Promise.all([
        send(url, id, plan, agent),
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
    transcripts.push(await send(url, `${id}-again`, plan, agent));
    agent.destroy();
  }

  const all = Promise.all(Array.from({ length: clients }, () => client(random.branch())));
  return {
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
