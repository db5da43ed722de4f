/** After the last answer every slot of every llama-server is free. */
import { setTimeout as pause } from 'node:timers/promises';
import type { ChaosHome } from '../home.ts';
import type { Finding } from './finding.ts';

/** Longer than a server takes to see that a client went. */
const PATIENCE_MS = 60_000;
/** Seldom: a server that is asked often does not see it. */
const LOOK_MS = 2_500;
const ANSWER_MS = 20_000;

export async function busySlots({ controller }: ChaosHome): Promise<Finding[]> {
  const found: Finding[] = [];
  for (const container of await controller.running()) {
    const deadline = performance.now() + PATIENCE_MS;
    let state = await stateOf(controller, container);
    while (state !== null && performance.now() < deadline) {
      await pause(LOOK_MS);
      state = await stateOf(controller, container);
    }
    if (state !== null)
      found.push({ rule: 'slots are free at the end', request: '', what: `${container}: ${state}` });
  }
  return found;
}

/** What is wrong with an instance's slots; null: nothing, or it has gone, as one does that was replaced. */
async function stateOf(controller: ChaosHome['controller'], container: string): Promise<string | null> {
  try {
    const busy = (await slots(controller, container)).filter((slot) => slot.is_processing).length;
    return busy > 0 ? `${busy} busy` : null;
  } catch (error) {
    return (await controller.running()).includes(container) ? String(error) : null;
  }
}

async function slots(
  { docker }: ChaosHome['controller'],
  container: string,
): Promise<readonly { is_processing: boolean }[]> {
  const { url, key } = await serverOf(docker, container);
  const answer = await fetch(`${url}/slots`, {
    headers: { authorization: `Bearer ${key}` },
    signal: AbortSignal.timeout(ANSWER_MS),
  });
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
