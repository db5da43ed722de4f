/**
 * The liveness probe: an instance that says nothing is asked for a sign of life, once for all attempts that wait
 * for it. Slow is not broken, so no deadline may end a silence of the CPU; but a program that is frozen (by a signal,
 * by a kernel that hangs) keeps its connections open and answers nobody.
 */
import type { Clock } from '../../../ports.ts';
import type { Alarms } from './alarms.ts';
import type { Watch } from './watch.ts';

/**
 * Questions until the verdict; an answer to any of them, also a late one, ends the probe. By default one every 10 s
 * for 30 s. llama-server answers `/health` on threads of their own, also while a batch is computed: within 1.7 s at
 * worst, measured with a load of 13 on two cores and a third of a core for itself (docs/measurements.md). A thread that
 * an idle connection holds is free again after 5 s, and each question comes by a new connection, which may get another.
 */
const QUESTIONS = 3;
/** A question that was looked after only after so many of its times proves nothing. */
const LATE = 1.5;

export interface Liveness {
  /**
   * `deadlines` of an attempt, told also here of its pauses and its end. Its silence counts from now on; `frozen` is
   * called where the instance gives no sign of life.
   */
  follow(deadlines: Watch, frozen: () => void): Watch;
}

export interface LivenessOptions {
  readonly clock: Clock;
  readonly alarms: Alarms;
  /** Silence after which it is asked, and as long again until the verdict (ms); read anew for each. */
  readonly silenceMs: () => number;
  /** Asks for a sign of life; returns what gives the question up. */
  readonly ask: (answered: () => void) => () => void;
}

interface Follower {
  /** Its reader is slow, so it waits for nothing. */
  paused: boolean;
  readonly deadlines: Watch;
  readonly frozen: () => void;
}

/** Of one instance. */
export function liveness({ clock, alarms, silenceMs, ask }: LivenessOptions): Liveness {
  const followers: Follower[] = [];
  /** Each gives a question up that is open. */
  let open: (() => void)[] = [];
  /** Questions in a row that stayed without an answer for as long as they had. */
  let unanswered = 0;
  let askedAt = Number.NEGATIVE_INFINITY;
  /** The last sign of life, of an answer or of an attempt that is over (monotonic ms). */
  let lastSign = Number.NEGATIVE_INFINITY;
  let silentSince = Number.NEGATIVE_INFINITY;
  /** Since when nobody has waited; it matters only while nobody does. */
  let restsSince = Number.NEGATIVE_INFINITY;
  const alarm = { at: Number.POSITIVE_INFINITY, index: -1, ring };

  const now = () => clock.now().mono;
  const stepMs = () => silenceMs() / QUESTIONS;
  const isAwaited = () => followers.some(({ paused }) => !paused);

  function giveUp(): void {
    const questions = open;
    open = [];
    for (const each of questions) each();
  }

  function silentFrom(at: number): void {
    silentSince = at;
    unanswered = 0;
    giveUp();
  }

  function ring(): void {
    if (followers.length === 0) {
      alarms.remove(alarm);
      return;
    }
    for (const { deadlines } of followers) lastSign = Math.max(lastSign, deadlines.heardAt());
    if (lastSign > silentSince) silentFrom(lastSign);
    if (!isAwaited()) return;
    const at = now();
    if (at < silentSince + silenceMs()) alarm.at = silentSince + silenceMs();
    else if (judge(at) < QUESTIONS) question(at);
    else convict(at);
  }

  /** Counts the question whose time is over. */
  function judge(at: number): number {
    if (open.length === 0) return unanswered;
    // We slept ourselves: what may have come meanwhile is not read yet.
    if (at > askedAt + LATE * stepMs()) silentFrom(silentSince);
    else unanswered += 1;
    return unanswered;
  }

  function question(at: number): void {
    askedAt = at;
    alarm.at = at + stepMs();
    open.push(ask(answered));
  }

  function answered(): void {
    lastSign = now();
    silentFrom(lastSign);
  }

  function convict(at: number): void {
    const waiting = followers.filter(({ paused }) => !paused);
    silentFrom(at);
    alarm.at = at + silenceMs();
    for (const { frozen } of waiting) frozen();
  }

  function begins(): void {
    const at = now();
    // What stayed unanswered counts on for the next attempt, so that clients of little patience find it out, too.
    if (lastSign > silentSince || at > restsSince + stepMs()) silentFrom(at);
    const due = Math.max(at, silentSince + silenceMs());
    if (alarm.index < 0) {
      alarm.at = due;
      alarms.add(alarm);
    } else if (due < alarm.at) {
      alarm.at = due;
      alarms.sooner(alarm);
    }
  }

  function rests(): void {
    restsSince = now();
    giveUp();
  }

  /** Does something that may change whether anybody waits. */
  function change(how: () => void): void {
    const before = isAwaited();
    how();
    const after = isAwaited();
    if (after && !before) begins();
    if (before && !after) rests();
  }

  return {
    follow(deadlines, frozen) {
      const follower: Follower = { paused: false, deadlines, frozen };
      change(() => followers.push(follower));
      return {
        ...deadlines,
        paused(paused) {
          deadlines.paused(paused);
          change(() => {
            follower.paused = paused;
          });
        },
        stop() {
          deadlines.stop();
          const index = followers.indexOf(follower);
          if (index < 0) return;
          lastSign = Math.max(lastSign, deadlines.heardAt());
          change(() => followers.splice(index, 1));
        },
      };
    },
  };
}
