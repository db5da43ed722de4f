/** Decisions about an instance that served and ended, or that somebody froze or is killing. */
import { judgeDeath, seeDeath } from './blame.ts';
import type { Decision } from './changes.ts';
import type { Instance } from './instance.ts';
import { reasonOfExit } from './reason.ts';
import { reduce } from './reduction.ts';
import { remove } from './removal.ts';
import type { State } from './state.ts';
import { beginOutage, raiseLimit, renameOutage, takeOut, tellDeath } from './takeout.ts';
import type { ExitEvidence, Now, Reason } from './types.ts';

/** Docker's evidence of an end, or an examination's. */
export function onExited(
  out: Decision,
  state: State,
  instance: Instance,
  evidence: ExitEvidence,
  now: Now,
): void {
  const { phase } = instance;
  if (phase.state === 'failed' && !phase.examined) {
    examined(out, state, instance, evidence, phase.reason, now);
    return;
  }
  // A start reports its own failure; a removal expects the end.
  if (phase.state !== 'ready' && phase.state !== 'draining') return;
  if (evidence.running) {
    if (evidence.killedOutside) onStopped(out, state, instance, 'killed_outside', now);
    return;
  }
  seeDeath(out, state, instance);
  out.effects.push({ type: 'close_connections', instance: instance.id });
  remove(out, instance, 'kill', false);
  if (phase.state === 'ready') beginOutage(out, state, instance, 'exit', null, now);
  const before = phase.state === 'draining' && phase.reason !== null ? phase.reason : 'exit';
  examined(out, state, instance, evidence, before, now);
}

/**
 * Somebody froze it, or is killing it: its sockets may stay open and silent, so they are closed now, also those of
 * requests that may finish on one that is to go anyway. The examination at its removal brings the rest.
 */
export function onStopped(
  out: Decision,
  state: State,
  instance: Instance,
  reason: 'paused' | 'killed_outside',
  now: Now,
): void {
  const { phase } = instance;
  if (phase.state !== 'ready' && phase.state !== 'draining') return;
  if (phase.state === 'ready') takeOut(out, state, instance, reason, now);
  else {
    const failed = { ...phase, why: 'failed', reason } as const;
    out.changes.push({ type: 'instance_moved', instance: instance.id, phase: failed });
  }
  out.effects.push({ type: 'close_connections', instance: instance.id });
}

function examined(
  out: Decision,
  state: State,
  instance: Instance,
  evidence: ExitEvidence,
  before: Reason,
  now: Now,
): void {
  const { reason, detail } = reasonOfExit(evidence, before);
  out.changes.push({
    type: 'instance_moved',
    instance: instance.id,
    phase: { state: 'failed', since: now.mono, reason, examined: true },
  });
  tellDeath(out, instance, reason, detail);
  judgeDeath(out, state, instance, instance.inFlight ?? [...instance.leases], evidence, reason);
  raiseLimit(out, state, instance, reason);
  reduce(out, state, instance, reason, now);
  renameOutage(out, state, instance, reason, detail);
}
