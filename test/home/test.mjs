import { handOver } from './bootstrap.mjs';

await handOver('test/home/test.ts', { tests: true });
