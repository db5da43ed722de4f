/** The contract of the Containers port on the bench's own Docker engine, with real llama-server containers. */
import { before } from 'node:test';
import { ensureBench } from '../home/bench.ts';
import type { BenchEngine } from '../support/containers/bench.ts';
import { containersContract } from './containers-suite.ts';
import { inContainerContract } from './in-container-suite.ts';
import { realEngine } from './real-engine.ts';

const TIMEOUT = 600_000;

let engine: BenchEngine | undefined;

function ready(): BenchEngine {
  if (engine === undefined) throw new Error('the bench is not up');
  return engine;
}

before(async () => {
  engine = realEngine(await ensureBench());
});

containersContract('a real Docker engine', ready, TIMEOUT);
inContainerContract('a real Docker engine', ready, TIMEOUT);
