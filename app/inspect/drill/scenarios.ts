/** The scenarios as data: what is sent, what is broken and when, and what has to come of it. */
import type { RunScenario } from '../../core/drill.ts';
import type { Harm } from '../../ports/drills.ts';

/** A start that is made to fail: too small a memory limit, or a device that is not there. */
export type StartFault = 'small_limit' | 'missing_device';

export type Fault =
  /** In mid-request: when it runs, or, of a stream, when the client has its first words. */
  | { readonly kind: 'harm'; readonly harm: Harm }
  /** Before the request, whose size then does the rest. */
  | { readonly kind: 'starve' }
  /** The model is unloaded first. */
  | { readonly kind: 'start'; readonly start: StartFault }
  /** The client leaves in mid-request. */
  | { readonly kind: 'leave' }
  | { readonly kind: 'load_other' }
  | { readonly kind: 'none' };

export type Sent = 'long_answer' | 'large_body' | 'long_prompt' | 'image' | 'tool_call';

export type Expected =
  /** Answered whole, or by an explicit error where a stream cannot be continued; the GPU comes back. */
  | 'moved'
  /** The backend's own error passes on, and nothing dies. */
  | 'rejected'
  /** The request ends, its slot is free, nothing is replayed. */
  | 'cancelled'
  /** The answer is whole and by the first attempt. */
  | 'undisturbed';

export interface Scenario {
  readonly fault: Fault;
  readonly sent: Sent;
  /** More requests than the model has slots. */
  readonly many: boolean;
  readonly expected: Expected;
  /** Only the GPU can have this fault. */
  readonly gpuOnly: boolean;
  /** What stops, for the question before it begins. */
  readonly stops: (model: string) => string;
}

const base = { sent: 'long_answer', many: false, expected: 'moved', gpuOnly: false } as const;
const dies = (how: string) => (model: string) =>
  `The running instance of ${model} is ${how} twice, each time under a request of the drill's own. ` +
  'It comes back by itself; meanwhile the fallback answers.';
const nothing = (what: string) => (model: string) => `Nothing of ${model} stops: ${what}.`;

export const SCENARIOS: Readonly<Record<RunScenario, Scenario>> = {
  kill: { ...base, fault: { kind: 'harm', harm: 'kill' }, stops: dies('killed') },
  hang: { ...base, fault: { kind: 'harm', harm: 'pause' }, stops: dies('frozen') },
  concurrent: {
    ...base,
    many: true,
    fault: { kind: 'harm', harm: 'kill' },
    stops: dies('killed under several requests'),
  },
  tools: { ...base, sent: 'tool_call', fault: { kind: 'harm', harm: 'kill' }, stops: dies('killed') },
  'oom-runtime': {
    ...base,
    sent: 'large_body',
    fault: { kind: 'starve' },
    stops: dies('left without memory'),
  },
  'oom-load': {
    ...base,
    gpuOnly: true,
    fault: { kind: 'start', start: 'small_limit' },
    stops: (model) => `${model} is unloaded twice, and its next start on the GPU gets too little memory.`,
  },
  'gpu-gone': {
    ...base,
    gpuOnly: true,
    fault: { kind: 'start', start: 'missing_device' },
    stops: (model) => `${model} is unloaded twice, and its next start asks for a GPU that is not there.`,
  },
  'long-prompt': {
    ...base,
    sent: 'long_prompt',
    fault: { kind: 'none' },
    expected: 'rejected',
    stops: nothing('it gets a prompt that is longer than its context'),
  },
  image: {
    ...base,
    sent: 'image',
    fault: { kind: 'none' },
    expected: 'rejected',
    stops: nothing('it gets a picture that it cannot read'),
  },
  cancel: {
    ...base,
    fault: { kind: 'leave' },
    expected: 'cancelled',
    stops: nothing("the drill's own client leaves in the middle of its answer"),
  },
  'second-model': {
    ...base,
    fault: { kind: 'load_other' },
    expected: 'undisturbed',
    stops: (model) =>
      `While ${model} answers, another model is asked for; an idle one may be unloaded for it.`,
  },
};

/** How each value of a report was measured. */
export const MEASURED: Readonly<Record<string, string>> = {
  firstFailure:
    "from sending the request until the controller took the instance out of service, by the controller's clock",
  reason: 'from the event log: the socket first, then what Docker and the last log lines showed',
  cpuStart: 'from the start of the fallback container to its first answer (event model_loaded)',
  firstToken: 'at the client: from sending the request to the first content that it received',
  answered: 'at the client: from sending the request to the end of its answer',
  complete: "at the client: status 200 and the protocol's end",
  connectionKept: 'at the client: one connection from the request to the end of its answer',
  attempts: 'the header Llamastead-Attempts, and the comments in a stream',
  idKept: 'the header X-Request-Id of the answer against the one that was sent',
  toolCalls: 'at the client: tool calls with different indexes or ids',
  gpuBack: 'from the failure until the instance was ready and its placement back in service',
  others: "Docker's list before and after: ids and start times of all containers that are not ours",
  memoryLow: 'MemAvailable of the host, read four times a second',
};
