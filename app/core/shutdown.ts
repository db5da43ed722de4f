/** The end of the controller: waiting requests are told, running ones may finish within the grace. */
import type { Decision } from './changes.ts';
import { drain } from './drain.ts';
import { refusal, refuseRequest } from './refuse.ts';
import type { Failure } from './request.ts';
import type { State } from './state.ts';
import type { Now } from './types.ts';

/** After the cut a llama-server ends in a moment; one that does not is killed 5 s later. */
const REMOVAL_MS = 8_000;

export function onShutdown(out: Decision, state: State, now: Now): void {
  if (state.shutdown !== null) return;
  const grace = state.policy?.shutdown.graceMs ?? 0;
  out.changes.push({
    type: 'shutdown_set',
    shutdown: { deadline: now.mono + grace, cut: false, told: false },
  });
}

/** The end of the controller cut the attempt off: its instance has not failed. */
export function isCutOff({ shutdown }: State, { kind }: Failure): boolean {
  return shutdown?.cut === true && kind === 'reset';
}

/** A rule of `settle`. What comes back to the line from an instance that was cut is told as well. */
export function shutDown(out: Decision, state: State, now: Now): void {
  const { shutdown, policy } = state;
  if (shutdown === null) return;
  // Also after the end of the grace: those that it cut off come back to wait for another attempt.
  for (const id of state.waiting) {
    const request = state.requests.get(id);
    if (request) refuseRequest(out, request, refusal('capacity', 'Llamastead is shutting down.', 10));
  }
  if (shutdown.told) return;
  const keep = policy?.shutdown.instances === 'keep';
  const instances = [...state.instances.values()];
  if (!keep) for (const instance of instances) drain(out, instance, 'shutdown', now);
  const busy = instances.filter((instance) => instance.leases.size > 0);
  const overdue = now.mono >= shutdown.deadline;
  if (overdue && !shutdown.cut) {
    for (const { id } of busy) out.effects.push({ type: 'close_connections', instance: id });
    const deadline = now.mono + REMOVAL_MS;
    out.changes.push({ type: 'shutdown_set', shutdown: { ...shutdown, deadline, cut: true } });
    return;
  }
  const open = keep ? busy.length + state.judged.size : instances.length;
  if (open > 0 && !overdue) return;
  for (const id of state.judged) {
    const request = state.requests.get(id);
    if (request?.phase.phase === 'judged') refuseRequest(out, request, request.phase.otherwise);
  }
  out.changes.push({ type: 'shutdown_set', shutdown: { ...shutdown, told: true } });
  out.effects.push({ type: 'stopped' });
}
