/**
 * Takes over a container that an earlier run of the controller made.
 */
import type { InstanceId } from '../../core/request.ts';
import type { Profile } from '../../core/types.ts';
import type { StartResult } from '../../ports.ts';
import type { EngineContext } from './context.ts';
import { dockerError } from './docker-error.ts';
import { KEY_VARIABLE, PORT_VARIABLE } from './llama-env.ts';
import { LABELS } from './names.ts';
import type { Entry } from './registry.ts';
import { notStarted } from './registry.ts';
import { serve } from './start.ts';

/** What could not be adopted stays, for `remove`. */
export async function adoptInstance(
  context: EngineContext,
  instance: InstanceId,
  container: string,
  profile: Profile,
): Promise<StartResult> {
  const { registry } = context;
  if (registry.get(instance) !== undefined || registry.find(container, []) !== undefined) {
    return { ok: false, evidence: notStarted('this instance or container was taken before') };
  }
  const entry = registry.add(instance, profile.task);
  entry.container = container;
  try {
    entry.error = await take(context, entry, container);
  } catch (thrown) {
    entry.error = dockerError(thrown).message;
  }
  if (entry.error === null) return serve(context, entry);
  entry.exitTold = true;
  return { ok: false, evidence: notStarted(entry.error) };
}

/** Reads key and address; returns why that is not possible. */
async function take(context: EngineContext, entry: Entry, container: string): Promise<string | null> {
  const found = await context.api.inspect(container);
  if (found === undefined) return 'the container is gone';
  if (found.Config.Labels[LABELS.owner] !== context.owner.owner) return 'the container is not ours';
  if (!found.State.Running) return `the container ended with exit code ${found.State.ExitCode}`;
  if (found.State.Paused === true) return 'the container is paused';
  const env = new Map(found.Config.Env.map((line) => split(line)));
  const port = Number(env.get(PORT_VARIABLE));
  const key = env.get(KEY_VARIABLE);
  if (!Number.isInteger(port) || port <= 0 || key === undefined) return 'the container has no port or key';
  const mode = found.HostConfig.NetworkMode ?? '';
  const holder = mode.startsWith('container:')
    ? await context.holders.at(mode.slice('container:'.length))
    : undefined;
  if (holder === undefined) return 'the network of the container is gone, or not reached from here';
  context.ports.reserve(port);
  entry.holder = holder.container;
  entry.address = { host: holder.host, port, key };
  return null;
}

function split(line: string): [string, string] {
  const at = line.indexOf('=');
  return at < 0 ? [line, ''] : [line.slice(0, at), line.slice(at + 1)];
}
