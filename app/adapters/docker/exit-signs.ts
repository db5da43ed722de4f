/**
 * What Docker's events tell of a container's end: pure. Times are the engine's, in milliseconds.
 */

/** Signals that end a llama-server. */
const DEADLY = new Set(['1', '2', '3', '6', '9', '15']);
const KILLED = 137;
const TERMINATED = 143;
/** `OOMKilled` of an inspection is sticky, so an end counts as the limit's only so close to its event. */
const OOM_WINDOW = 2_000;

export interface ExitSigns {
  readonly diedAt: number | null;
  readonly exitCode: number | null;
  readonly oomAt: number | null;
  /** We sent it a signal that ends it. */
  readonly byUs: boolean;
  /** Somebody else did, through Docker. */
  readonly byOthers: boolean;
}

export const NO_SIGNS: ExitSigns = {
  diedAt: null,
  exitCode: null,
  oomAt: null,
  byUs: false,
  byOthers: false,
};

/** The parts of a Docker event that matter here. */
export interface EndEvent {
  readonly action: string;
  /** Engine time, ms. */
  readonly at: number;
  readonly exitCode: number | null;
  readonly signal: string | null;
}

export function withEvent(signs: ExitSigns, event: EndEvent): ExitSigns {
  switch (event.action) {
    case 'die':
      return { ...signs, diedAt: event.at, exitCode: event.exitCode };
    case 'oom':
      return { ...signs, oomAt: event.at };
    case 'kill':
      if (event.signal !== null && !DEADLY.has(event.signal)) return signs;
      return signs.byUs ? signs : { ...signs, byOthers: true };
    case 'stop':
    case 'destroy':
      return signs.byUs ? signs : { ...signs, byOthers: true };
    default:
      return signs;
  }
}

/** Whether no later event could change the judgement of a death. */
export function isSettled(signs: ExitSigns): boolean {
  if (signs.byUs || signs.byOthers || signs.oomAt !== null) return true;
  return signs.exitCode !== null && signs.exitCode !== KILLED && signs.exitCode !== TERMINATED;
}

export interface Judgement {
  readonly exitCode: number | null;
  readonly oomKilled: boolean;
  readonly killedOutside: boolean;
}

/** `inspected`: the container's state, where it could still be read; it stands in where events were missed. */
export function judge(
  signs: ExitSigns,
  inspected: { readonly exitCode: number; readonly oomKilled: boolean } | null,
): Judgement {
  const exitCode = signs.exitCode ?? inspected?.exitCode ?? null;
  const byLimit = exitCode === KILLED && !signs.byUs && !signs.byOthers && limitHit(signs, inspected);
  return { exitCode, oomKilled: byLimit, killedOutside: signs.byOthers && !signs.byUs };
}

function limitHit(signs: ExitSigns, inspected: { readonly oomKilled: boolean } | null): boolean {
  if (signs.diedAt === null) return inspected?.oomKilled ?? false;
  return signs.oomAt !== null && Math.abs(signs.diedAt - signs.oomAt) <= OOM_WINDOW;
}
