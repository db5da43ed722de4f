/** How late an idle model goes: by Docker's own events, on the real llama-server. */
import type { IncomingMessage } from 'node:http';
import { createInterface } from 'node:readline';
import Dockerode from 'dockerode';
import { ensureBench } from '../../home/bench.ts';
import type { Samples } from '../measure/samples.ts';
import { quantile } from '../measure/statistics.ts';
import { startStubHome } from '../targets/home.ts';
import { ask } from './warm.ts';

const NAME = 'bench-idle';
const LIMIT_MS = 1_000;

/** Puts `idle late ms`: gone, less the limit and the stop itself; and `idle stop ms`. */
export async function measureIdle(trials: number, samples: Samples): Promise<void> {
  const { images, socket } = await ensureBench();
  const home = await startStubHome(NAME, images.cpu, {
    model: { parallel: 1, placements: ['cpu'], idleUnload: `${LIMIT_MS}ms` },
  });
  const events = await followEnds(socket, NAME);
  try {
    const late: number[] = [];
    const stops: number[] = [];
    for (let i = 0; i < trials; i += 1) {
      await ask(home, {});
      const end = Date.now();
      const { killed, died, gone } = await events.next();
      late.push(gone - end - LIMIT_MS - (died - killed));
      stops.push(died - killed);
      await home.controller.event('model_unloaded');
    }
    samples.put('idle late ms', 'llamastead', quantile(late, 0.99));
    samples.put('idle stop ms', 'llamastead', quantile(stops, 0.5));
  } finally {
    events.close();
    await home.controller.close();
  }
}

/** Wall clock, ms. */
interface End {
  readonly killed: number;
  readonly died: number;
  readonly gone: number;
}

/** The ends of a home's instances, each told when the container is removed. */
async function followEnds(socketPath: string, home: string) {
  const label = [`io.llamastead.instance=${home}`, 'io.llamastead.role=instance'];
  const filters = JSON.stringify({ type: ['container'], event: ['kill', 'die', 'destroy'], label });
  const stream = (await new Dockerode({ socketPath }).getEvents({ filters })) as IncomingMessage;
  const ends: End[] = [];
  let waiting: ((end: End) => void) | null = null;
  let killed = 0;
  let died = 0;
  createInterface(stream).on('line', (line) => {
    const { Action, timeNano } = JSON.parse(line) as { readonly Action: string; readonly timeNano: number };
    const at = timeNano / 1e6;
    if (Action === 'kill') killed = at;
    else if (Action === 'die') died = at;
    else {
      ends.push({ killed, died, gone: at });
      waiting?.(ends[ends.length - 1] ?? { killed, died, gone: at });
    }
  });
  let given = 0;
  return {
    next(): Promise<End> {
      const known = ends[given];
      given += 1;
      if (known !== undefined) return Promise.resolve(known);
      return new Promise((resolve) => {
        waiting = resolve;
      });
    },
    close: () => void stream.destroy(),
  };
}
