/** After the last answer every slot of every llama-server is free. */
import { setTimeout as pause } from 'node:timers/promises';
import type { ChaosHome } from '../home.ts';
import type { Finding } from './finding.ts';

/** Longer than a server takes to see that a client went. */
const PATIENCE_MS = 20_000;
/** Seldom: a server that is asked often does not see it. */
const LOOK_MS = 2_500;

export async function busySlots({ controller }: ChaosHome): Promise<Finding[]> {
  const found: Finding[] = [];
  for (const container of await controller.running()) {
    const deadline = performance.now() + PATIENCE_MS;
    let busy = await busyOf(controller, container);
    while (busy > 0 && performance.now() < deadline) {
      await pause(LOOK_MS);
      busy = await busyOf(controller, container);
    }
    if (busy > 0)
      found.push({ rule: 'slots are free at the end', request: '', what: `${container}: ${busy} busy` });
  }
  return found;
}

/** Busy slots of an instance; none once it has gone, as one does that was replaced. */
async function busyOf(controller: ChaosHome['controller'], container: string): Promise<number> {
  try {
    return (await slots(controller, container)).filter((slot) => slot.is_processing).length;
  } catch (error) {
    if ((await controller.running()).includes(container)) throw error;
    return 0;
  }
}

async function slots(
  { docker }: ChaosHome['controller'],
  container: string,
): Promise<readonly { is_processing: boolean }[]> {
  const { url, key } = await serverOf(docker, container);
  const answer = await fetch(`${url}/slots`, { headers: { authorization: `Bearer ${key}` } });
  if (!answer.ok) throw new Error(`${container}: /slots answers ${answer.status}`);
  return (await answer.json()) as { is_processing: boolean }[];
}

/** Where an instance listens, and its key, read from Docker alone. */
export async function serverOf(
  docker: (...args: string[]) => Promise<string>,
  container: string,
): Promise<{ readonly url: string; readonly key: string }> {
  const { Config, HostConfig } = JSON.parse(await docker('inspect', '--format', '{{json .}}', container)) as {
    Config: { Env: string[] };
    HostConfig: { NetworkMode: string };
  };
  const env = new Map(Config.Env.map((entry) => entry.split(/=(.*)/s, 2) as [string, string]));
  const holder = HostConfig.NetworkMode.replace(/^container:/, '');
  const address = await docker(
    'inspect',
    '--format',
    '{{range .NetworkSettings.Networks}}{{.IPAddress}} {{end}}',
    holder,
  );
  const [ip] = address.trim().split(' ');
  return { url: `http://${ip}:${env.get('LLAMA_ARG_PORT')}`, key: env.get('LLAMA_API_KEY') ?? '' };
}
