import type { Bench } from '../bench.ts';
import { contentHash } from '../lib/content-hash.ts';
import type { Docker } from '../lib/docker.ts';
import { repository } from '../lib/paths.ts';
import { type Folders, propagationOf } from './folders.ts';

export interface Ports {
  http: number;
  mqtt: number;
}

/** What the controller's container is made from; another plan needs a new container. */
export interface ContainerPlan {
  image: string;
  folders: Folders;
  socket: string;
  /** Inside the container. */
  ports: Ports;
  /** Keys of the configuration that are read only at the start. */
  fixedSettings: string;
}

/** Of one checkout: several may have a home on one engine. */
export const containerName: string = `llamastead-bench-${contentHash([repository]).slice(0, 6)}`;

const planLabel = 'llamastead.bench.plan';

export function planHash(plan: ContainerPlan): string {
  return contentHash([JSON.stringify(plan)]);
}

export interface FoundContainer {
  running: boolean;
  plan: string;
}

export async function findController(docker: Docker): Promise<FoundContainer | undefined> {
  const format = `{{.State}}|{{.Label "${planLabel}"}}`;
  const filter = `name=^/${containerName}$`;
  const line = await docker.run(['ps', '--all', '--filter', filter, '--format', format]);
  const [state, plan = ''] = line.split('|');
  return line === '' ? undefined : { running: state === 'running', plan };
}

/** Where the running controller's ports are on this machine. */
export async function publishedPorts(docker: Docker, ports: Ports): Promise<Ports> {
  const onHost = async (port: number) => {
    const [address = ''] = (await docker.run(['port', containerName, String(port)])).split('\n');
    return Number(address.split(':').at(-1));
  };
  return { http: await onHost(ports.http), mqtt: await onHost(ports.mqtt) };
}

/** Starts Llamastead from its image with the Docker socket mounted, as a NAS does. */
export async function startController(bench: Bench, plan: ContainerPlan, published: Ports): Promise<void> {
  const { folders } = plan;
  if ((await findNetwork(bench.docker)) === '') await bench.docker.run(['network', 'create', containerName]);
  await bench.docker.run([
    ...['run', '--detach', '--init', '--name', containerName, '--label', `${planLabel}=${planHash(plan)}`],
    // No restart policy: a home of a checkout that is gone must not come back with the engine.
    ...['--stop-timeout', '60', '--network', containerName],
    ...['--publish', `${published.http}:${plan.ports.http}`],
    ...['--publish', `${published.mqtt}:${plan.ports.mqtt}`],
    ...['--volume', `${plan.socket}:/var/run/docker.sock`],
    ...['--volume', `${folders.models}:/models:${await propagationOf(folders.models)}`],
    ...['--volume', `${folders.state}:/data`],
    ...['--volume', `${folders.config}:/config`],
    plan.image,
  ]);
}

/** The id of its network, as compose makes one for an app: homes of several checkouts do not meet. */
async function findNetwork(docker: Docker): Promise<string> {
  return docker.run(['network', 'ls', '--quiet', '--filter', `name=^${containerName}$`]);
}

/** Removes the network, once nothing is on it any more. */
export async function removeNetwork(docker: Docker): Promise<void> {
  const id = await findNetwork(docker);
  if (id !== '') await docker.run(['network', 'rm', id]);
}

/** Ends the controller, which stops its own instances first, and removes its container. */
export async function removeController(docker: Docker): Promise<void> {
  await docker.run(['stop', containerName]);
  await docker.run(['rm', '--force', '--volumes', containerName]);
}

/** The end of the controller's log. */
export async function controllerLog(docker: Docker): Promise<string> {
  const lines: string[] = [];
  await docker.run(['logs', '--tail', '15', containerName], { onLine: (line) => lines.push(line) });
  return lines.slice(-15).join('\n');
}
