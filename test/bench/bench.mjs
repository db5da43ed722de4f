import { handOver } from '../home/bootstrap.mjs';

await handOver('test/bench/bench.ts', { tests: false });
