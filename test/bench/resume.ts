/**
 * `node test/bench/resume.ts`: how long a text that was cut waits until its request is at the second instance, on real
 * llama-servers and through the forwarder alone: from the end of the first connection to the first byte of the resumed
 * request, with the questions about tokens between them. Prints one line for each number of tokens.
 */

import { KEY, llamaServers, ready } from '../contract/llama-servers.ts';
import { cuttingProxy } from '../support/cutting-proxy.ts';
import { forwardBench } from '../support/forward-bench.ts';
import { ask } from '../support/raw-client.ts';

const PATH = '/v1/chat/completions';
const TRIALS = 20;
const LENGTHS = [2, 20];

const servers = await llamaServers('resume-bench');
const gpu = await servers.start('gpu');
const cpu = await servers.start('cpu');
await Promise.all([ready(gpu), ready(cpu)]);
const [first, second] = await Promise.all([cuttingProxy(gpu.host, 8080), cuttingProxy(cpu.host, 8080)]);
const bench = await forwardBench({
  ports: [first.port, second.port],
  key: KEY,
  onFailure: () => ({ do: 'grant', instance: 1, reason: 'reset' }),
});

/** Milliseconds from the cut to the request, one number a trial. */
async function trials(tokens: number): Promise<number[]> {
  const body = { model: 'chat', stream: true, ignore_eos: true, max_tokens: tokens + 4 };
  const waits: number[] = [];
  for (let trial = 0; trial < TRIALS; trial += 1) {
    first.cutAfter(tokens);
    await ask(bench.url + PATH, { ...body, messages: [{ role: 'user', content: `hello ${trial}` }] });
    const cut = first.seen.findLast(({ what }) => what === 'cut')?.at ?? Number.NaN;
    const sent = second.seen.findLast(({ what }) => what === PATH)?.at ?? Number.NaN;
    waits.push(sent - cut);
  }
  return waits;
}

function line(tokens: number, waits: readonly number[]): string {
  const [cold = 0, ...warm] = waits;
  const sorted = warm.toSorted((a, b) => a - b);
  const at = (share: number) => (sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN).toFixed(1);
  return `${tokens} text events: first ${cold.toFixed(1)} ms, then p50 ${at(0.5)} ms, p95 ${at(0.95)} ms (${warm.length})`;
}

for (const tokens of LENGTHS) process.stdout.write(`${line(tokens, await trials(tokens))}\n`);
await bench.close();
await Promise.all([first.close(), second.close()]);
await servers.removeAll();
