/**
 * A world for the core: the real loop on a clock that tests move, and parts that do what a test says. Effects
 * are recorded; starts, removals, estimates and readings of the host answer at once unless a test holds them.
 */
import type { Effect, InstancePlan } from '../../app/core/effects.ts';
import type { FactBody } from '../../app/core/facts.ts';
import type { Input } from '../../app/core/inputs.ts';
import type { Outcome } from '../../app/core/request.ts';
import type { Carried } from '../../app/core/state.ts';
import type {
  ExitEvidence,
  HostMemory,
  Need,
  Now,
  Placement,
  Policy,
  Profile,
} from '../../app/core/types.ts';
import { type Loop, makeLoop } from '../../app/loop.ts';
import { manualClock } from './clock.ts';
import { GIB, host, need } from './model.ts';

export type EffectOf<T extends Effect['type']> = Extract<Effect, { type: T }>;

export const DEAD: ExitEvidence = {
  running: false,
  exitCode: 139,
  oomKilled: false,
  killedOutside: false,
  error: null,
  log: [],
};

export interface WorldOptions {
  readonly policy: Policy;
  /** From the run before. */
  readonly carried?: Partial<Carried>;
  readonly memory?: HostMemory;
  readonly needOf?: (profile: Profile) => Need;
  /** Null: the start works. */
  readonly startFails?: (plan: InstancePlan) => ExitEvidence | null;
  /** Starts, removals wait for `finishStart`, `finishRemoval`. */
  readonly holdStarts?: boolean;
  readonly holdRemovals?: boolean;
  readonly evidence?: (instance: string) => ExitEvidence;
  /** Tokens of a request's prompt as instances count them; undefined: they never answer. Default: null. */
  readonly tokensOf?: (request: number) => number | null | undefined;
}

/** How a removal ends: the container is gone, its card still holds the memory, or it does not go. */
export type Removed = 'gone' | 'memory_held' | 'stuck';

export interface World {
  readonly loop: Loop;
  readonly effects: Effect[];
  readonly facts: FactBody[];
  now(): Now;
  advance(ms: number): void;
  submit(input: Input): void;
  /** Sends a request; returns its internal id. */
  request(more?: {
    readonly model?: string;
    readonly deadlineMs?: number;
    readonly neverReplay?: boolean;
    readonly client?: string;
    readonly background?: boolean;
    readonly promptBytes?: number;
    /** Hash of its body; each has one of its own otherwise. */
    readonly body?: string;
    readonly drill?: boolean;
  }): number;
  end(request: number, outcome?: Outcome): void;
  /** The newest grant of a request, if it is granted and running. */
  grantOf(request: number): EffectOf<'grant'> | undefined;
  refusalOf(request: number): EffectOf<'refuse'>['refusal'] | undefined;
  finishStart(): void;
  finishRemoval(how?: Removed): void;
  readonly started: InstancePlan[];
  placements(): Placement[];
  factTypes(): string[];
  setMemory(memory: HostMemory): void;
}

export const COMPLETED: Outcome = { kind: 'completed' };
/** Effects of a world that goes round and round. */
const RESTLESS = 50_000;

export const RESET: Outcome = {
  kind: 'failed',
  failure: { kind: 'reset', reused: false },
  forwarded: 'nothing',
};

export function makeWorld(options: WorldOptions): World {
  const clock = manualClock();
  const effects: Effect[] = [];
  const facts: FactBody[] = [];
  const started: InstancePlan[] = [];
  const heldStarts: (() => void)[] = [];
  const heldRemovals: ((how: Removed) => void)[] = [];
  let memory = options.memory ?? host(12 * GIB);
  let nextRequest = 1;
  const bodies = new Map<number, string>();

  const start = (plan: InstancePlan): void => {
    const evidence = options.startFails?.(plan) ?? null;
    loop.submit(
      evidence === null
        ? {
            type: 'instance_ready',
            instance: plan.instance,
            container: `c-${plan.instance}`,
            measured: { placement: plan.profile.placement, ram: null, vram: null },
          }
        : { type: 'instance_start_failed', instance: plan.instance, evidence },
    );
  };
  const remove = (effect: EffectOf<'remove_instance'>, how: Removed): void => {
    const { instance } = effect;
    if (effect.examine) {
      loop.submit({ type: 'instance_exited', instance, evidence: options.evidence?.(instance) ?? DEAD });
    }
    if (how === 'stuck') loop.submit({ type: 'instance_stuck', instance, detail: 'it does not go' });
    else loop.submit({ type: 'instance_removed', instance, memoryBack: how === 'gone' });
  };
  const record = (effect: Effect): void => {
    effects.push(effect);
    if (effects.length > RESTLESS) throw new Error(`no rest: ${JSON.stringify(effects.slice(-4))}`);
  };

  const loop: Loop = makeLoop({
    clock,
    ...(options.carried === undefined ? {} : { carried: options.carried }),
    publish: (told) => facts.push(...told),
    executors: {
      grant: record,
      refuse: record,
      pass_on: record,
      count_tokens(effect) {
        record(effect);
        const tokens = options.tokensOf === undefined ? null : options.tokensOf(effect.request);
        if (tokens !== undefined) loop.submit({ type: 'tokens_counted', request: effect.request, tokens });
      },
      close_connections: record,
      remove_container: record,
      answer_command: record,
      stopped: record,
      identify_body(effect) {
        record(effect);
        const { request } = effect;
        loop.submit({ type: 'body_identified', request, body: bodies.get(request) ?? '' });
      },
      start_instance(effect) {
        record(effect);
        started.push(effect.plan);
        if (options.holdStarts) heldStarts.push(() => start(effect.plan));
        else start(effect.plan);
      },
      adopt_instance(effect) {
        record(effect);
        const measured = { placement: effect.profile.placement, ram: null, vram: null };
        loop.submit({
          type: 'instance_ready',
          instance: effect.instance,
          container: effect.container,
          measured,
        });
      },
      remove_instance(effect) {
        record(effect);
        if (options.holdRemovals) heldRemovals.push((how) => remove(effect, how));
        else remove(effect, 'gone');
      },
      examine_instance(effect) {
        record(effect);
        const evidence = options.evidence?.(effect.instance) ?? DEAD;
        loop.submit({ type: 'instance_exited', instance: effect.instance, evidence });
      },
      estimate_need({ profile }) {
        const estimated = options.needOf?.(profile) ?? need(GIB, profile.gpu === null ? 0 : GIB);
        loop.submit({ type: 'need_estimated', hash: profile.hash, need: estimated });
      },
      read_ahead: record,
      look_for_gpus: record,
      sample_host: () => loop.submit({ type: 'host_sampled', host: memory }),
      sample_for_verdict(effect) {
        record(effect);
        loop.submit({ type: 'host_sampled', host: memory });
        loop.submit({ ...effect.attempt, sampled: true });
      },
    },
  });

  loop.submit({ type: 'configured', policy: options.policy, why: 'start' });
  loop.submit({ type: 'engine_reachable', engine: 'local' });
  loop.submit({ type: 'containers_observed', engine: 'local', containers: [] });

  return {
    loop,
    effects,
    facts,
    started,
    now: clock.now,
    advance: clock.advance,
    submit: loop.submit,
    request({
      model = 'chat',
      deadlineMs,
      neverReplay = false,
      drill = false,
      client = 'someone',
      background = false,
      promptBytes,
      body,
    } = {}) {
      const id = nextRequest;
      nextRequest += 1;
      bodies.set(id, body ?? `body ${id}`);
      loop.submit({
        type: 'request_received',
        request: {
          id,
          externalId: `x${id}`,
          model,
          path: '/v1/chat/completions',
          stream: true,
          neverReplay,
          drill,
          deadlineMs: deadlineMs ?? null,
          client,
          background,
          promptBytes: promptBytes ?? null,
        },
        body: bodies.get(id) ?? '',
      });
      return id;
    },
    end: (request, outcome = COMPLETED) => loop.submit({ type: 'attempt_ended', request, outcome }),
    grantOf(request) {
      if (loop.state.requests.get(request)?.phase.phase !== 'running') return undefined;
      return effects.findLast(
        (each): each is EffectOf<'grant'> => each.type === 'grant' && each.request === request,
      );
    },
    refusalOf: (request) =>
      effects.find((each): each is EffectOf<'refuse'> => each.type === 'refuse' && each.request === request)
        ?.refusal,
    finishStart: () => heldStarts.shift()?.(),
    finishRemoval: (how = 'gone') => heldRemovals.shift()?.(how),
    placements: () => [...loop.state.instances.values()].map((instance) => instance.placement),
    factTypes: () => facts.map((fact) => fact.type),
    setMemory(next) {
      memory = next;
    },
  };
}
