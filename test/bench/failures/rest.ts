/** The controller in its own container, as on a NAS: what it takes at rest, and after a load. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { stringify } from 'yaml';
import { ensureBench, ensureSelfImage } from '../../home/bench.ts';
import type { Docker } from '../../home/lib/docker.ts';
import { removeLabelled } from '../../home/lib/docker.ts';
import { expectedFrom } from '../forwarding/expected.ts';
import { SEEDS, SMALL } from '../forwarding/field.ts';
import { hammer } from '../forwarding/throughput.ts';
import { cpuSeconds, diskBytesWritten, memoryUse } from '../measure/process.ts';
import type { Samples } from '../measure/samples.ts';
import { MODEL } from '../targets/home.ts';
import type { Target } from '../targets/target.ts';

const NAME = 'bench-rest';
const OURS = `io.llamastead.instance=${NAME}`;
const MIB = 2 ** 20;
/** Until what a start does is over. */
const SETTLE_MS = 15_000;
/** Until it has given back what the load took. */
const CALM_MS = 140_000;
const CONNECTIONS = 64;

export interface RestEffort {
  readonly watchMs: number;
  readonly loadMs: number;
}

/** Puts `rest ...` and `after load RSS MB`. Megabytes are MiB. */
export async function measureRest(stub: string, effort: RestEffort, samples: Samples): Promise<void> {
  const { docker, home } = await startContainer(stub);
  try {
    await pause(SETTLE_MS);
    const [cpu, disk, start] = [cpuSeconds(home.pid), diskBytesWritten(home.pid), performance.now()];
    await pause(effort.watchMs);
    const put = (metric: string, value: number) => samples.put(metric, 'llamastead', value);
    const used = memoryUse(home.pid);
    put('rest RSS MB', used.rss / MIB);
    put('rest anonymous MB', used.anonymous / MIB);
    put('rest CPU %', ((cpuSeconds(home.pid) - cpu) / (performance.now() - start)) * 1e5);
    put('rest disk bytes', diskBytesWritten(home.pid) - disk);
    await load(home.target, effort.loadMs, samples);
    await pause(CALM_MS);
    put('after load RSS MB', memoryUse(home.pid).rss / MIB);
  } finally {
    await docker.run(['stop', NAME]);
    await removeAll(docker);
    rmSync(home.folder, { recursive: true, force: true });
  }
}

/** Also what a run that was killed has left. */
async function removeAll(docker: Docker): Promise<void> {
  await removeLabelled(docker, OURS);
  if ((await docker.run(['ps', '--all', '--quiet', '--filter', `name=^/${NAME}$`])) !== '') {
    await docker.run(['rm', '--force', '--volumes', NAME]);
  }
  const network = await docker.run(['network', 'ls', '--quiet', '--filter', `name=^${NAME}$`]);
  if (network !== '') await docker.run(['network', 'rm', network]);
}

async function load(target: Target, ms: number, samples: Samples): Promise<void> {
  const shapes = Array.from({ length: SEEDS }, (_, seed) => ({ stream: false, chunks: SMALL, seed }));
  const expected = await expectedFrom(target, shapes, samples);
  await hammer({ expected }, target, CONNECTIONS, ms);
}

async function startContainer(stub: string) {
  const bench = await ensureBench();
  const image = await ensureSelfImage(bench);
  const folder = mkdtempSync(join(tmpdir(), `llamastead-${NAME}-`));
  for (const name of ['config', 'state']) mkdirSync(join(folder, name));
  const models = {
    [MODEL]: { file: bench.tinyFile, context: 256, parallel: CONNECTIONS, placements: ['cpu'] },
  };
  const config = { images: { cpu: stub }, gpus: [], models, mqtt: { instance: NAME } };
  writeFileSync(join(folder, 'config/llamastead.yaml'), stringify(config));
  await removeAll(bench.docker);
  await bench.docker.run(['network', 'create', NAME]);
  await bench.docker.run([
    ...['run', '--detach', '--init', '--name', NAME, '--network', NAME],
    ...['--volume', `${bench.socket}:/var/run/docker.sock`, '--volume', `${bench.modelsDir}:/models`],
    ...['--volume', `${folder}/state:/data`, '--volume', `${folder}/config:/config`],
    image,
  ]);
  const format = `{{.State.Pid}} {{(index .NetworkSettings.Networks "${NAME}").IPAddress}}`;
  const [init, address] = (await bench.docker.run(['inspect', '--format', format, NAME])).split(' ');
  const url = `http://${address}:11535`;
  await untilReady(bench.docker, url);
  const pid = Number(readFileSync(`/proc/${init}/task/${init}/children`, 'utf8').trim().split(' ')[0]);
  const target: Target = { name: 'llamastead', url, model: MODEL, pid };
  return { docker: bench.docker, home: { pid, target, folder } };
}

async function untilReady(docker: Docker, url: string): Promise<void> {
  const until = performance.now() + SETTLE_MS;
  const ready = () =>
    fetch(`${url}/readyz`).then(
      (answer) => answer.ok,
      () => false,
    );
  while (!(await ready())) {
    if (performance.now() > until) throw new Error(`not ready:\n${await docker.run(['logs', NAME])}`);
    await pause(50);
  }
}
