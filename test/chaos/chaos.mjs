import { handOver } from '../home/bootstrap.mjs';

await handOver('test/chaos/main.ts', { tests: true });
