/**
 * When the state is told to those who watch: at once when a status changed, else at most once a second.
 * Looking for a changed status costs a view, so under load it is done at most ten times a second.
 */
import type { View } from '../../../core/view.ts';
import type { Clock, Gate } from '../../../ports.ts';

const LOOK_MS = 100;
const QUIET_MS = 1_000;

export interface Snapshots {
  /** The present state as JSON; the same text for all who ask between two changes or facts. */
  text(): string;
  /** A fact was told: the state's number is another one. */
  renumbered(): void;
  /** Begins to watch the gate. */
  start(): void;
  stop(): void;
}

/** `due` is called when everyone who watches should get `text()`. */
export function createSnapshots(options: {
  readonly gate: Pick<Gate, 'view' | 'onChange'>;
  readonly clock: Clock;
  readonly due: () => void;
}): Snapshots {
  const { gate, clock } = options;
  let cached: string | null = null;
  let lastKey = '';
  let lookedAt = Number.NEGATIVE_INFINITY;
  let toldAt = Number.NEGATIVE_INFINITY;
  let alarm: { readonly at: number; readonly cancel: () => void } | null = null;
  let stopWatching: (() => void) | null = null;

  function lookAt(at: number): void {
    if (alarm !== null && alarm.at <= at) return;
    alarm?.cancel();
    alarm = {
      at,
      cancel: clock.at(at, () => {
        alarm = null;
        look();
      }),
    };
  }

  function look(): void {
    const now = clock.now().mono;
    const key = statusKey(gate.view());
    lookedAt = now;
    if (key === lastKey && now < toldAt + QUIET_MS) {
      lookAt(toldAt + QUIET_MS);
      return;
    }
    lastKey = key;
    toldAt = now;
    options.due();
  }

  function changed(): void {
    cached = null;
    if (alarm !== null && alarm.at <= lookedAt + LOOK_MS) return;
    if (clock.now().mono >= lookedAt + LOOK_MS) {
      alarm?.cancel();
      alarm = null;
      look();
    } else lookAt(lookedAt + LOOK_MS);
  }

  return {
    text() {
      if (stopWatching === null) return JSON.stringify(gate.view());
      cached ??= JSON.stringify(gate.view());
      return cached;
    },
    renumbered() {
      cached = null;
    },
    start() {
      if (stopWatching !== null) return;
      cached = null;
      lastKey = statusKey(gate.view());
      stopWatching = gate.onChange(changed);
    },
    stop() {
      stopWatching?.();
      stopWatching = null;
      alarm?.cancel();
      alarm = null;
    },
  };
}

/** Everything in the view that a person reads as a status; two views with one key differ only in numbers. */
export function statusKey(view: View): string {
  return JSON.stringify([
    view.models.map((model) => [
      model.name,
      model.status,
      model.placement,
      model.mode,
      model.keepLoaded,
      model.lastError,
      model.outage?.placement,
      model.outage?.reason,
      model.outage?.probing,
    ]),
    view.instances.map(({ model, placement, state, container }) => [model, placement, state, container]),
    view.problems.map(({ code, model, text }) => [code, model, text]),
    view.gpus.map(({ name }) => name),
    view.lastFailover?.time,
  ]);
}
