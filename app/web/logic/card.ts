/** A model's state as its card shows it. */
import type { Placement } from '../../core/types.ts';
import type { InstanceView, ModelView, View } from '../../core/view.ts';

export type CardState =
  | 'asleep'
  | 'starting'
  | 'ready'
  | 'answering'
  | 'fallback'
  | 'finishing'
  | 'failed'
  | 'off';

export function cardState(model: ModelView): CardState {
  switch (model.status) {
    case 'failed':
      return 'failed';
    case 'starting':
      return 'starting';
    case 'draining':
      return 'finishing';
    case 'degraded':
      return onFallback(model) ? 'fallback' : 'ready';
    case 'busy':
      return onFallback(model) ? 'fallback' : 'answering';
    case 'ready':
      return onFallback(model) ? 'fallback' : 'ready';
    case 'stopped':
      return model.mode === 'off' ? 'off' : 'asleep';
  }
}

/** It runs, but not where its outage is. */
function onFallback(model: ModelView): boolean {
  return model.outage !== null && model.placement === 'cpu' && model.outage.placement !== 'cpu';
}

/** Where it runs: what was measured counts more than what was planned. */
export interface Where {
  readonly planned: Placement;
  /** Null: not measured. */
  readonly measured: Placement | null;
  readonly ram: number | null;
  readonly vram: number | null;
}

export function instancesOf(view: View, model: string): readonly InstanceView[] {
  return view.instances.filter((instance) => instance.model === model);
}

/** The instance that answers (or the newest on its way there); null when nothing is loaded. */
export function mainInstance(view: View, model: ModelView): InstanceView | null {
  const all = instancesOf(view, model.name);
  const live = all.filter((instance) => instance.state === 'ready' || instance.state === 'draining');
  return (
    live.find((instance) => instance.placement === model.placement) ??
    live[0] ??
    all.find((instance) => instance.state === 'starting') ??
    all[0] ??
    null
  );
}

export function whereIs(instance: InstanceView): Where {
  return {
    planned: instance.placement,
    measured: instance.measured?.placement ?? null,
    ram: instance.measured?.ram ?? null,
    vram: instance.measured?.vram ?? null,
  };
}

/** A start on its way: seconds so far, and the usual seconds by earlier loads. */
export interface Starting {
  readonly placement: Placement;
  readonly elapsed: number;
  readonly usual: number | null;
  /** 0 to 0.97: only the truth completes it; null where no earlier load tells. */
  readonly fraction: number | null;
}

export function startingOf(view: View, model: ModelView, now: number): Starting | null {
  const instance = instancesOf(view, model.name).find((one) => one.state === 'starting');
  if (instance === undefined) return null;
  const elapsed = Math.max(0, (now - Date.parse(instance.since)) / 1000);
  const usual = model.loadSeconds[instance.placement] ?? null;
  const fraction = usual === null || usual <= 0 ? null : Math.min(0.97, elapsed / usual);
  return { placement: instance.placement, elapsed, usual, fraction };
}

/** Requests that are being answered now. */
export function leasesOf(view: View, model: string): number {
  return instancesOf(view, model).reduce((sum, instance) => sum + instance.leases, 0);
}

/** The main button: load what sleeps, unload what is loaded; null while neither makes sense. */
export function mainAction(model: ModelView): 'load' | 'unload' | null {
  switch (cardState(model)) {
    case 'asleep':
    case 'failed':
      return 'load';
    case 'ready':
    case 'answering':
    case 'fallback':
    case 'starting':
      return 'unload';
    case 'finishing':
    case 'off':
      return null;
  }
}
