/** One input in, one decision out. Deterministic and free of I/O; `evolve` is what makes it true. */
import { imageCame } from './cause-gone.ts';
import { type Decision, noDecision } from './changes.ts';
import { nextDue } from './deadlines.ts';
import type { Input } from './inputs.ts';
import type { Instance } from './instance.ts';
import { onReceived } from './on-arrival.ts';
import { onAbandoned, onAttemptEnded } from './on-attempt.ts';
import { onCommand, onConfigured } from './on-command.ts';
import { onExited, onStopped } from './on-death.ts';
import { onDrill } from './on-drill.ts';
import { onObserved, onReachable, onUnreachable } from './on-engine.ts';
import { onReady, onRemoved, onStartFailed, onStuck } from './on-instance.ts';
import { problemKey } from './problem.ts';
import { onShutdown } from './shutdown.ts';
import { onReadAhead, onSlow } from './standby.ts';
import type { State } from './state.ts';
import { onCounted } from './too-long.ts';
import type { Now } from './types.ts';

/** A need that could not be read is tried again after this. */
const NEED_RETRY_MS = 30_000;

export function decide(state: State, input: Input, now: Now): Decision {
  const out = noDecision();
  switch (input.type) {
    case 'request_received':
      onReceived(out, state, input.request, input.body, now);
      break;
    case 'attempt_ended':
      onAttemptEnded(out, state, input, now);
      break;
    case 'request_abandoned':
      onAbandoned(out, state, input.request, now);
      break;
    case 'body_identified':
      if (state.requests.has(input.request)) out.changes.push({ ...input, type: 'body_known' });
      break;
    case 'tokens_counted':
      onCounted(out, state, input.request, input.tokens);
      break;
    case 'tick':
      out.changes.push({ type: 'due_reset', at: nextDue(state, now.mono) });
      break;
    case 'configured':
      onConfigured(out, state, input, now);
      break;
    case 'command':
      onCommand(out, state, input.id, input.command, now);
      break;
    case 'shutdown':
      onShutdown(out, state, now);
      break;
    case 'drill_began':
    case 'drill_eased':
    case 'drill_sealed':
    case 'drill_reported':
    case 'drill_ended':
      onDrill(out, state, input, now);
      break;
    default:
      decideReport(out, state, input, now);
  }
  return out;
}

type Report = Exclude<
  Input,
  {
    type:
      | 'request_received'
      | 'attempt_ended'
      | 'body_identified'
      | 'request_abandoned'
      | 'tokens_counted'
      | 'tick'
      | 'configured'
      | 'command'
      | 'shutdown'
      | 'drill_began'
      | 'drill_eased'
      | 'drill_sealed'
      | 'drill_reported'
      | 'drill_ended';
  }
>;

function decideReport(out: Decision, state: State, input: Report, now: Now): void {
  switch (input.type) {
    case 'engine_reachable':
      onReachable(out, state, input.engine, now);
      break;
    case 'engine_unreachable':
      onUnreachable(out, state, input.engine, input.problem, now);
      break;
    case 'containers_observed':
      onObserved(out, state, input.engine, input.containers, now);
      break;
    case 'host_sampled':
      out.changes.push({ type: 'host_known', memory: input.host, at: now.mono });
      break;
    case 'need_estimated':
      forgetProblem(out, state, input.hash);
      out.changes.push({ type: 'need_known', hash: input.hash, need: input.need });
      break;
    case 'need_unknown':
      forgetProblem(out, state, input.hash);
      out.changes.push({
        type: 'need_unknown',
        hash: input.hash,
        problem: input.problem,
        retryAt: now.mono + NEED_RETRY_MS,
      });
      out.changes.push({ type: 'problem_set', problem: input.problem });
      break;
    case 'request_slow':
      onSlow(out, state, input.request);
      break;
    case 'read_ahead_done':
      onReadAhead(out, state, input.model, input.hash, input.read, now);
      break;
    case 'problem_seen':
      out.changes.push({ type: 'problem_set', problem: input.problem });
      break;
    case 'problem_gone':
      out.changes.push({ type: 'problem_cleared', key: problemKey(input) });
      if (input.code === 'image_missing') imageCame(out, state, input.about ?? '', now);
      break;
    case 'broker_changed':
      onBroker(out, input.up, input.detail);
      break;
    default: {
      const instance = state.instances.get(input.instance);
      if (instance !== undefined) decideInstance(out, state, instance, input, now);
    }
  }
}

/** What stood in the way of the last try to estimate a need: this one tells it anew, or it is gone. */
function forgetProblem(out: Decision, state: State, hash: string): void {
  const need = state.needs.get(hash);
  if (need?.kind !== 'pending' || need.problem === null) return;
  out.changes.push({ type: 'problem_cleared', key: problemKey(need.problem) });
}

type InstanceReport = Extract<Input, { readonly instance: string }>;

/** Reports about an instance that is no longer known are late, and mean nothing any more. */
function decideInstance(
  out: Decision,
  state: State,
  instance: Instance,
  input: InstanceReport,
  now: Now,
): void {
  switch (input.type) {
    case 'instance_ready':
      onReady(out, state, instance, input.container, input.measured, now);
      break;
    case 'instance_start_failed':
      onStartFailed(out, state, instance, input.evidence, now);
      break;
    case 'instance_exited':
      onExited(out, state, instance, input.evidence, now);
      break;
    case 'instance_paused':
      onStopped(out, state, instance, 'paused', now);
      break;
    case 'instance_removed':
      onRemoved(out, state, instance, input.memoryBack, now);
      break;
    case 'instance_stuck':
      onStuck(out, instance, input.detail, now);
      break;
  }
}

function onBroker(out: Decision, up: boolean, detail: string | null): void {
  out.facts.push({ type: up ? 'broker_back' : 'broker_lost', ...(detail === null ? {} : { detail }) });
}
