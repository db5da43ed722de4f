/** A home to be hurt: an engine of its own that may be restarted, a broker that may go, the real program. */
import { readFile } from 'node:fs/promises';
import { type Controller, startController } from '../e2e/support/controller.ts';
import { type Bench, ensureBench } from '../home/bench.ts';
import { type NewerEngine, startNewerEngine } from '../support/newer-engine/newer-engine.ts';
import { type ChaosBroker, startBroker } from './faults/broker.ts';
import type { Victims } from './faults/faults.ts';
import { type ServerLogs, serverLogs } from './logs/server-logs.ts';
import { within } from './within.ts';

export interface ChaosHome {
  readonly controller: Controller;
  readonly broker: ChaosBroker;
  readonly logs: ServerLogs;
  readonly victims: Omit<Victims, 'inTheMiddleOfAText'>;
  /** When the controller was away, in milliseconds of `performance.now()`. */
  readonly deaths: readonly { readonly from: number; readonly to: number }[];
  /** Resident bytes of the controller now. */
  memory(): Promise<number>;
  /** @throws AggregateError with each part that did not end by itself */
  close(): Promise<void>;
}

const HOME = 'chaos';
const SINGLE = { file: 'tiny.gguf', context: 2048, parallel: 1 };
/** For one part of the home to end: the controller waits 33 s at most. */
const CLOSE_MS = 90_000;
/** Of the controller's log, in a failure. */
const LAST_WORDS = 3000;
/** How often new containers are looked for. */
const LOOK_MS = 200;

/** Models by name: what a resumed stream is compared with has one slot, so that batches do not change its text. */
export const MODELS = {
  single: SINGLE,
  alone: SINGLE,
  shared: { ...SINGLE, parallel: 4 },
  'cpu-only': { ...SINGLE, placements: ['cpu'] },
};

/** Whether an instance of the model answers one request at a time. */
export function oneSlot(model: string): boolean {
  return Object.entries(MODELS).some(([name, { parallel }]) => name === model && parallel === 1);
}

export async function startHome(): Promise<ChaosHome> {
  const bench = await ensureBench();
  const engine = await startNewerEngine(bench);
  try {
    return await homeOn(bench, engine);
  } catch (error) {
    // It outlives this process, and another one could not start beside it.
    await engine.stop();
    throw error;
  }
}

async function homeOn(bench: Bench, first: NewerEngine): Promise<ChaosHome> {
  let engine = first;
  const broker = await startBroker(HOME);
  const own: Bench = { ...bench, docker: engine.docker, socket: engine.socket };
  const controller = await startController(
    HOME,
    {
      models: MODELS,
      queue: { depth: 64, deadline: '30s' },
      failover: { returnAfter: '1s', stall: '5s', silence: '3s', streamKeepalive: '2s' },
      mqtt: { instance: HOME, url: broker.url },
    },
    own,
  );
  const logs = serverLogs(engine.docker);
  const stopFollowing = followLogs(controller, logs);
  const deaths: { from: number; to: number }[] = [];
  return {
    controller,
    broker,
    logs,
    deaths,
    victims: {
      docker: engine.docker,
      instances: () => controller.running(),
      async restartEngine() {
        await engine.stop();
        engine = await startNewerEngine(bench);
      },
      async killController() {
        const death = { from: performance.now(), to: Number.POSITIVE_INFINITY };
        deaths.push(death);
        await controller.kill('SIGKILL');
        await controller.start();
        death.to = performance.now();
      },
      stopBroker: broker.stopFor,
    },
    memory: () => residentBytes(controller.pid()),
    async close() {
      stopFollowing();
      logs.close();
      const failures = await inTurn({
        'the end of the controller': () => controller.close(),
        'the end of the broker': () => broker.close(),
        'the end of the engine': () => engine.stop(),
      });
      if (failures.length === 0) return;
      await controller.kill('SIGKILL');
      const words = controller.log().slice(-LAST_WORDS);
      throw new AggregateError(failures, `${failures.join('\n')}\nthe controller's last words:\n${words}`);
    },
  };
}

/** Each one gets its turn, whatever became of those before. */
async function inTurn(ends: Readonly<Record<string, () => Promise<void>>>): Promise<readonly unknown[]> {
  const failures: unknown[] = [];
  for (const [what, end] of Object.entries(ends)) {
    await within(CLOSE_MS, what, end()).catch((error: unknown) => failures.push(error));
  }
  return failures;
}

/** Looks for containers one time after the other: an engine that does not answer is not asked again. */
function followLogs(controller: Controller, logs: ServerLogs): () => void {
  let timer: NodeJS.Timeout;
  let stopped = false;
  const look = async () => {
    await controller.running().then(logs.follow, () => undefined);
    if (!stopped) timer = setTimeout(look, LOOK_MS);
  };
  timer = setTimeout(look, LOOK_MS);
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}

async function residentBytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
}
