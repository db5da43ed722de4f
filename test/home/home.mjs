import { handOver } from './bootstrap.mjs';

await handOver('test/home/home.ts', { tests: false });
