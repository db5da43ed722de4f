/** Clients side by side, each sending one request after the other until it is told to stop. */
import { Agent } from 'node:http';
import type { Random } from '../random.ts';
import type { Transcript } from '../transcript.ts';
import { send } from './client.ts';
import { nextPlan } from './kinds.ts';

export interface Crowd {
  /** No new requests from now on; resolves with all transcripts when the last request has ended. */
  stop(): Promise<readonly Transcript[]>;
  readonly running: () => number;
}

export interface CrowdOptions {
  readonly url: string;
  readonly clients: number;
  readonly models: readonly string[];
  readonly random: Random;
}

export function startCrowd({ url, clients, models, random }: CrowdOptions): Crowd {
  const transcripts: Transcript[] = [];
  let stopped = false;
  let running = 0;
  let next = 1;

  async function client(own: Random): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    while (!stopped) {
      const id = `chaos-${next++}`;
      running += 1;
      const transcript = await send(url, id, nextPlan(own, models), agent);
      running -= 1;
      transcripts.push(transcript);
      // Refused at once: the controller is away, or full. A person would wait a moment too.
      if (transcript.status !== 200) await pause(own.between(20, 400));
    }
    agent.destroy();
  }

  const all = Promise.all(Array.from({ length: clients }, () => client(random.branch())));
  return {
    async stop() {
      stopped = true;
      await all;
      return transcripts;
    },
    running: () => running,
  };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
