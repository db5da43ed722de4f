/** The contract of the Containers port on the bench's own Docker engine, with real llama-server containers. */
import { before } from 'node:test';
import { type Bench, ensureBench } from '../home/bench.ts';
import { containersContract } from './containers-suite.ts';

/** Ends the program as an abort of its own does; PID 1 is Docker's init. */
const ABORT_LLAMA =
  'for p in /proc/[0-9]*; do case "$(readlink $p/exe)" in *llama-server) kill -ABRT $(basename $p);; esac; done';
const TIMEOUT = 240_000;

let bench: Bench | undefined;

function ready(): Bench {
  if (bench === undefined) throw new Error('the bench is not up');
  return bench;
}

before(async () => {
  bench = await ensureBench();
});

containersContract(
  'a real Docker engine',
  () => ({
    socket: ready().socket,
    images: ready().images,
    modelsFolder: ready().modelsDir,
    async crash(container) {
      await ready().docker.run(['exec', container, 'sh', '-c', ABORT_LLAMA]);
    },
  }),
  TIMEOUT,
);
