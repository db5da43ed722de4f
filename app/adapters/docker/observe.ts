/**
 * The sure truth beside the quick one: all containers that are ours, as the engine lists them.
 */
import type { ObservedContainer } from '../../core/inputs.ts';
import type { EngineContext } from './context.ts';
import type { Deaths } from './deaths.ts';
import { LABELS, placementOf } from './names.ts';
import type { Entry, Registry } from './registry.ts';
import type { ListedContainer } from './schemas.ts';

/** Reports them, finds deaths that no event told, clears unused holders. Throws Docker's error. */
export async function observe(context: EngineContext, deaths: Deaths): Promise<void> {
  const { api, owner, registry, holders, report } = context;
  // What comes to be during the call may be missing from its answer.
  const before = registry.all().filter(({ container, phase }) => container !== null && phase !== 'removing');
  const containers = await api.list({ all: true, labels: [`${LABELS.owner}=${owner.owner}`] });
  const byId = new Map(containers.map((container) => [container.Id, container]));
  const holder = holders.current();
  if (holder !== undefined && byId.get(holder.container)?.State !== 'running') {
    holders.lost(holder.container);
    deaths.holderDied(holder.container);
  }
  for (const entry of before) compare(entry, byId.get(entry.container ?? ''), deaths);
  const observed = containers
    .map((container) => observedContainer(container, owner.engine, registry))
    .filter((container) => container !== undefined);
  report({ type: 'containers_observed', engine: owner.engine, containers: observed });
  await holders.sweep(containers);
}

function compare(entry: Entry, listed: ListedContainer | undefined, deaths: Deaths): void {
  if (listed?.State === 'paused') deaths.foundPaused(entry);
  else if (listed === undefined || listed.State === 'exited' || listed.State === 'dead')
    deaths.foundDead(entry);
}

function observedContainer(
  listed: ListedContainer,
  engine: string,
  registry: Registry,
): ObservedContainer | undefined {
  const placement = placementOf(listed.Labels);
  if (listed.Labels[LABELS.role] !== 'instance' || placement === undefined) return undefined;
  return {
    container: listed.Id,
    engine,
    model: listed.Labels[LABELS.model] ?? '',
    placement,
    hash: listed.Labels[LABELS.config] ?? '',
    running: listed.State === 'running',
    instance: registry.find(listed.Id, listed.Names)?.instance ?? null,
  };
}
