/** A home to be hurt: an engine of its own that may be restarted, a broker that may go, the real program. */
import { readFile } from 'node:fs/promises';
import { type Controller, startController } from '../e2e/support/controller.ts';
import { type Bench, ensureBench } from '../home/bench.ts';
import { type NewerEngine, startNewerEngine } from '../support/newer-engine/newer-engine.ts';
import { type ChaosBroker, startBroker } from './faults/broker.ts';
import type { Victims } from './faults/faults.ts';
import { type ServerLogs, serverLogs } from './faults/server-logs.ts';

export interface ChaosHome {
  readonly controller: Controller;
  readonly broker: ChaosBroker;
  readonly logs: ServerLogs;
  readonly victims: Victims;
  /** When the controller was away, in milliseconds of `performance.now()`. */
  readonly deaths: readonly { readonly from: number; readonly to: number }[];
  /** Resident bytes of the controller now. */
  memory(): Promise<number>;
  close(): Promise<void>;
}

const HOME = 'chaos';
const SINGLE = { file: 'tiny.gguf', context: 1024, parallel: 1 };

/** Models by name: what a resumed stream is compared with has one slot, so that batches do not change its text. */
export const MODELS = {
  single: SINGLE,
  alone: SINGLE,
  shared: { ...SINGLE, parallel: 4 },
  'cpu-only': { ...SINGLE, placements: ['cpu'] },
};

export async function startHome(): Promise<ChaosHome> {
  const bench = await ensureBench();
  let engine: NewerEngine = await startNewerEngine(bench);
  const broker = await startBroker(HOME);
  const own: Bench = { ...bench, docker: engine.docker, socket: engine.socket };
  const controller = await startController(
    HOME,
    {
      models: MODELS,
      queue: { depth: 64, deadline: '60s' },
      failover: { returnAfter: '1s', firstToken: '5s', stall: '5s', streamKeepalive: '2s' },
      mqtt: { instance: HOME, url: broker.url },
    },
    own,
  );
  const logs = serverLogs(engine.docker);
  const following = setInterval(() => void controller.instances().then(logs.follow, () => undefined), 200);
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
      clearInterval(following);
      logs.close();
      await controller.close();
      await broker.close();
      await engine.stop();
    },
  };
}

async function residentBytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
}
