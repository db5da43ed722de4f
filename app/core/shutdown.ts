/** The end of the controller: waiting requests are told, running ones may finish within the grace. */
import type { Decision } from './changes.ts';
import { drain } from './on-command.ts';
import { refusal, refuseRequest } from './refuse.ts';
import type { State } from './state.ts';
import type { Now } from './types.ts';

export function onShutdown(out: Decision, state: State, now: Now): void {
  if (state.shutdown !== null) return;
  const grace = state.policy?.shutdown.graceMs ?? 0;
  out.changes.push({ type: 'shutdown_set', shutdown: { deadline: now.mono + grace, told: false } });
}

/** A rule of `settle`. */
export function shutDown(out: Decision, state: State, now: Now): void {
  const { shutdown, policy } = state;
  if (shutdown === null) return;
  // Also after the end of the grace: those that it cut off come back to wait for another attempt.
  for (const id of state.waiting) {
    const request = state.requests.get(id);
    if (request) refuseRequest(out, request, refusal('capacity', 'Llamastead is shutting down.', 10));
  }
  if (shutdown.told) return;
  const overdue = now.mono >= shutdown.deadline;
  const keep = policy?.shutdown.instances === 'keep';
  for (const instance of state.instances.values()) {
    if (!keep) drain(out, instance, 'shutdown', now);
    if (overdue && instance.leases.size > 0)
      out.effects.push({ type: 'close_connections', instance: instance.id });
  }
  const busy = [...state.instances.values()].some((instance) => instance.leases.size > 0);
  const left = keep ? busy : state.instances.size > 0;
  if (left && !overdue) return;
  out.changes.push({ type: 'shutdown_set', shutdown: { ...shutdown, told: true } });
  out.effects.push({ type: 'stopped' });
}
