/**
 * Random inputs for the core: a sequence of steps on a world whose starts and removals end when the sequence says
 * so.
 */

import type { Input } from '../../app/core/inputs.ts';
import type { Outcome } from '../../app/core/request.ts';
import type { Mode, Model, Problem } from '../../app/core/types.ts';
import { GIB, GPU, host, model, policy, profile } from './model.ts';
import { fc } from './property.ts';
import { COMPLETED, DEAD, RESET, type Removed, type World } from './world.ts';

const DOCKER_GONE: Problem = { code: 'docker_not_answering', text: 'It does not answer.', fix: 'Look.' };
const UNREADABLE: Problem = {
  code: 'model_unreadable',
  text: 'It cannot be read.',
  fix: 'Look.',
  model: 'a',
};

export type Step = (world: World, shared: Shared) => void;
export interface Shared {
  /** `unanswered`: Docker is away, and nobody told. */
  startsFail: 'no' | 'of_memory' | 'unanswered';
  readonly asked: number[];
  commands: number;
  /** Ended by their clients, or whole. */
  readonly left: Set<number>;
  readonly ended: Map<number, string>;
}

export const MODELS = ['a', 'b'];
const tooLong = (tokens: number): Outcome => ({
  kind: 'failed',
  failure: { kind: 'http', status: 400, message: 'too long', overflow: { tokens, context: 512 } },
  forwarded: 'nothing',
});
const name = fc.constantFrom(...MODELS);
const outcomes: readonly Outcome[] = [
  COMPLETED,
  COMPLETED,
  RESET,
  { kind: 'client_gone', finished: false },
  { kind: 'deadline' },
  { kind: 'failed', failure: { kind: 'reset', reused: true }, forwarded: 'nothing' },
  { kind: 'failed', failure: { kind: 'refused' }, forwarded: 'nothing' },
  { kind: 'failed', failure: { kind: 'stall' }, forwarded: 'content' },
  { kind: 'failed', failure: { kind: 'frozen' }, forwarded: 'nothing' },
  { kind: 'failed', failure: { kind: 'frozen' }, forwarded: 'content' },
  { kind: 'failed', failure: { kind: 'http', status: 400, message: 'no' }, forwarded: 'nothing' },
  { kind: 'failed', failure: { kind: 'http', status: 500, message: 'Compute error.' }, forwarded: 'nothing' },
  tooLong(1000),
  tooLong(5000),
];

const pick = <T>(items: readonly T[], index: number): T | undefined =>
  items[index % Math.max(1, items.length)];
export const running = (world: World) =>
  [...world.loop.state.requests.values()].filter((request) => request.phase.phase === 'running');
/** One of them keeps its CPU warm. The CPU takes longer prompts than the GPU. */
export const entry = (each: string, more: Partial<Model> = {}) => {
  const standby = each === 'b' ? 'warm' : 'cached';
  const gpu = profile(each, 'gpu', { context: 512 });
  const profiles = { gpu, cpu: profile(each, 'cpu', { standby, context: 2048 }) };
  return model(each, { profiles, ...more });
};
/** As on a machine without a GPU. */
const withoutGpu = (each: string) =>
  entry(each, { profiles: { cpu: profile(each, 'cpu', { context: 2048 }) } });
function drillStep(what: 'began' | 'eased' | 'sealed' | 'ended', drilled: string): Input {
  if (what === 'began') return { type: 'drill_began', id: 'd', scenario: 'kill', model: drilled };
  return what === 'ended'
    ? { type: 'drill_ended', verdict: 'passed', why: 'seen' }
    : { type: `drill_${what}` };
}
const withPolicy = (keepLoaded: boolean, mode: Mode, only: string) =>
  policy(MODELS.map((each) => entry(each, each === only ? { mode, keepLoaded } : {})));

export const steps: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .record({
        model: name,
        client: fc.constantFrom('x', 'y', 'z'),
        background: fc.boolean(),
        promptBytes: fc.constantFrom(0, 1_500, 5_000, 50_000),
        drill: fc.constantFrom(false, false, false, true),
        own: fc.constantFrom(null, null, 5_000),
      })
      .map(
        ({ own, ...asked }): Step =>
          (world, shared) =>
            void shared.asked.push(world.request({ ...asked, ...(own === null ? {} : { deadlineMs: own }) })),
      ),
  },
  {
    weight: 6,
    arbitrary: fc.tuple(fc.nat(50), fc.constantFrom(...outcomes)).map(
      ([index, outcome]): Step =>
        (world, { left }) => {
          const request = pick(running(world), index);
          if (request === undefined) return;
          if (outcome.kind === 'completed' || outcome.kind === 'client_gone') left.add(request.id);
          world.end(request.id, outcome);
        },
    ),
  },
  {
    weight: 2,
    arbitrary: fc.nat(50).map(
      (index): Step =>
        (world, { left }) => {
          const request = pick([...world.loop.state.waiting, ...world.loop.state.judged], index);
          if (request === undefined) return;
          left.add(request);
          world.submit({ type: 'request_abandoned', request });
        },
    ),
  },
  {
    weight: 2,
    arbitrary: fc.nat(50).map(
      (index): Step =>
        (world) => {
          const request = pick(running(world), index);
          if (request !== undefined) world.submit({ type: 'request_slow', request: request.id });
        },
    ),
  },
  { weight: 4, arbitrary: fc.constant<Step>((world) => world.finishStart()) },
  {
    weight: 4,
    arbitrary: fc.constantFrom<Removed>('gone', 'gone', 'gone', 'memory_held', 'stuck').map(
      (how): Step =>
        (world) =>
          world.finishRemoval(how),
    ),
  },
  {
    weight: 3,
    arbitrary: fc.constantFrom(1, 50, 2_000, 31_000, 700_000).map(
      (ms): Step =>
        (world) =>
          world.advance(ms),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(fc.nat(50), fc.constantFrom('instance_exited', 'instance_paused')).map(
      ([index, type]): Step =>
        (world) => {
          const instance = pick([...world.loop.state.instances.keys()], index);
          if (instance === undefined) return;
          world.submit(
            type === 'instance_paused'
              ? { type, instance }
              : { type: 'instance_exited', instance, evidence: DEAD },
          );
        },
    ),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(fc.constantFrom('load', 'unload', 'restart'), name).map(
      ([verb, each]): Step =>
        (world, shared) => {
          shared.commands += 1;
          const command = { do: verb, model: each } as const;
          world.submit({ type: 'command', id: shared.commands, command });
        },
    ),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(fc.boolean(), fc.constantFrom<Mode>('auto', 'cpu', 'gpu', 'off'), name).map(
      ([kept, mode, each]): Step =>
        (world) =>
          world.submit({
            type: 'configured',
            policy: withPolicy(kept, mode, each),
            why: 'settings',
          }),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(fc.boolean(), name).map(
      ([came, each]): Step =>
        (world) =>
          world.submit({
            type: 'configured',
            policy: came ? withPolicy(false, 'auto', each) : policy(MODELS.map(withoutGpu), { gpus: [] }),
            why: 'scan',
            gpus: came ? [GPU] : [],
          }),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(fc.constantFrom('began', 'eased', 'sealed', 'ended'), name).map(
      ([what, each]): Step =>
        (world) =>
          world.submit(drillStep(what, each)),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Shared['startsFail']>('no', 'of_memory', 'unanswered').map(
      (how): Step =>
        (_, shared) => {
          shared.startsFail = how;
        },
    ),
  },
  {
    weight: 1,
    arbitrary: fc.integer({ min: 3, max: 16 }).map(
      (gib): Step =>
        (world) =>
          world.setMemory(host(gib * GIB)),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constant<Step>((world) =>
      world.submit({ type: 'containers_observed', engine: 'local', containers: [] }),
    ),
  },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom<Input>(
        { type: 'engine_unreachable', engine: 'local', problem: DOCKER_GONE },
        { type: 'engine_reachable', engine: 'local' },
      )
      .map(
        (input): Step =>
          (world) =>
            world.submit(input),
      ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom('a-gpu', 'a-cpu', 'b-gpu', 'b-cpu').map(
      (hash): Step =>
        (world) =>
          world.submit({ type: 'need_unknown', hash, problem: UNREADABLE }),
    ),
  },
);
