import { setTimeout as pause } from 'node:timers/promises';
import type { ControllerApi } from '../controller/api.ts';
import type { RunningHome } from '../controller/bring-up.ts';
import type { Docker } from '../lib/docker.ts';
import { StepFailure } from '../lib/failure.ts';
import { chat, type Told } from './chat.ts';
import { listen } from './listener.ts';

type Say = (line: string) => void;

/** A home on a busy machine may take this long for what takes seconds on one that rests. */
const patienceMs = 300_000;

/** Plays the main job: a chat on the GPU, its death under the next one, its return, the unload, and what MQTT heard. */
export async function tellStory(home: RunningHome, docker: Docker, say: Say): Promise<void> {
  const { api, file, outward } = home;
  const start = performance.now();
  const topic = `${outward.mqtt.base}/${outward.mqtt.instance}/event`;
  const listener = await listen(file.mqtt, topic);
  try {
    const { seq } = await api.state();
    await chatOnGpu(api, say);
    await chatWhileGpuDies(api, docker, seq, say);
    await waitForReturn(api, seq, say);
    const last = await unload(api, say);
    await until('MQTT has told the last event', async () => (listener.newest() >= last ? true : undefined));
    say(`\nMQTT told it too (${topic}):`);
    for (const line of listener.heard()) say(`   ${line}`);
    say(`\nThe story took ${seconds(performance.now() - start)}.`);
  } catch (error) {
    throw new StepFailure('story', `Look at ${file.page} and at: docker logs ${file.container}`, error);
  } finally {
    await listener.close();
  }
}

async function chatOnGpu(api: ControllerApi, say: Say): Promise<void> {
  say('\n1. A chat. The GPU container is started for it.');
  report(await chat(api.url, 'story-1', 'Say hello.'), say);
}

async function chatWhileGpuDies(api: ControllerApi, docker: Docker, seq: number, say: Say): Promise<void> {
  say('\n2. The next chat. While the GPU works on it, its container is killed.');
  const answer = chat(api.url, 'story-2', 'Where do llamas live?');
  // If it fails before anything below looks at it, that is told below.
  answer.catch(() => {});
  const container = await until('the GPU has the request', async () => {
    const { instances } = await api.state();
    return instances.find((one) => one.placement === 'gpu' && one.model === 'chat' && one.leases === 1)
      ?.container;
  });
  const killed = performance.now();
  await docker.run(['kill', container]);
  say(`   killed ${container}`);
  const told = await answer;
  report(told, say);
  say(`   The whole answer was there ${seconds(performance.now() - killed)} after the kill.`);
  if (told.requestId !== 'story-2') throw new Error(`the answer has the id ${told.requestId}, not story-2`);
  // The head of an answer that took long to begin names no placement; the event does.
  const moved = (await api.eventsAfter(seq)).find((event) => event.requestIds?.includes('story-2'));
  if (moved?.to !== 'cpu') throw new Error(`the request moved to ${moved?.to ?? 'nothing'}, not to the CPU`);
}

async function waitForReturn(api: ControllerApi, seq: number, say: Say): Promise<void> {
  say('\n3. The GPU container is made anew, tried, and serves again.');
  const start = performance.now();
  await until('the GPU is back', () => eventSince(api, seq, 'recovered'));
  say(`   back after ${seconds(performance.now() - start)}`);
}

/** Returns the number of the newest event after it. */
async function unload(api: ControllerApi, say: Say): Promise<number> {
  say('\n4. The model is unloaded, as an idle one is after its time.');
  await api.command('/admin/models/chat/unload?wait=1');
  const { models, seq } = await api.state();
  say(`   chat is ${models.find((model) => model.name === 'chat')?.status ?? 'gone'}`);
  return seq;
}

async function eventSince(api: ControllerApi, seq: number, type: string): Promise<true | undefined> {
  return (await api.eventsAfter(seq)).some((event) => event.type === type) ? true : undefined;
}

/** Asks until there is an answer. Throws after `patienceMs`. */
async function until<T>(what: string, look: () => Promise<T | null | undefined>): Promise<T> {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    const found = await look();
    if (found !== null && found !== undefined) return found;
    if (performance.now() > deadline) throw new Error(`${what}: not after ${seconds(patienceMs)}`);
    await pause(20);
  }
}

function report(told: Told, say: Say): void {
  say(`   “${told.text.trim()}”`);
  say(
    `   request ${told.requestId}: placement ${told.placement}, attempts ${told.attempts}, ` +
      `first word after ${seconds(told.firstMs)}, whole after ${seconds(told.totalMs)}`,
  );
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
