/** English of drills, and the shape that every other language has. */
import type { DrillScenario, DrillVerdict } from '../../core/drill.ts';

const twice = (model: string, how: string) =>
  `${model} is ${how} twice, each time under a request of the drill itself. It comes back by itself.`;
const nothing = (what: string) => `Nothing stops: ${what}.`;

const names: Readonly<Record<DrillScenario, string>> = {
  kill: 'Killed in mid-answer',
  'oom-load': 'Too little memory at the start',
  'oom-runtime': 'Out of memory in mid-answer',
  'long-prompt': 'A prompt that is too long',
  'second-model': 'A second model at the same time',
  hang: 'Frozen in mid-answer',
  'gpu-gone': 'GPU gone',
  cancel: 'The client leaves',
  concurrent: 'Killed under several requests',
  tools: 'Killed during a tool call',
  image: 'A picture for a model that cannot see',
  'controller-restart': 'Restart of Llamastead',
};

const stops: Readonly<Record<DrillScenario, (model: string) => string>> = {
  kill: (model) => twice(model, 'killed'),
  'oom-load': (model) => `${model} is unloaded twice, and its next start on the GPU gets too little memory.`,
  'oom-runtime': (model) => twice(model, 'left without memory'),
  'long-prompt': () => nothing('the model gets a prompt that is longer than its context'),
  'second-model': (model) =>
    `While ${model} answers, another model is asked for. An idle one may be unloaded for it.`,
  hang: (model) => twice(model, 'frozen'),
  'gpu-gone': (model) => `${model} is unloaded twice, and its next start asks for a GPU that is not there.`,
  cancel: () => nothing("the drill's own client leaves in the middle of its answer"),
  concurrent: (model) => twice(model, 'killed'),
  tools: (model) => twice(model, 'killed'),
  image: () => nothing('the model gets a picture that it cannot read'),
  'controller-restart': () => 'Llamastead itself is restarted.',
};

const verdicts: Readonly<Record<DrillVerdict, string>> = {
  passed: 'Passed',
  failed: 'Failed',
  not_applicable: 'Not applicable',
};

export const enDrill = {
  title: 'Drills',
  intro: 'A drill breaks a model on purpose and reports what a user would have noticed.',
  scenario: 'What happens',
  model: 'Model',
  run: 'Run the drill',
  names,
  stops,
  verdicts,
  confirmTitle: (model: string) => `Break ${model} on purpose?`,
  waits: (model: string) =>
    `The drill waits until nobody uses ${model}; new requests then wait for a moment. It takes up to a few minutes.`,
  starting: 'Waiting for a free moment',
  running: (name: string, model: string, elapsed: string) => `${name}: ${model}, for ${elapsed}`,
  none: 'No drill has run yet.',
  noModel: 'A drill needs a model that can chat.',
  notRead: 'The reports could not be read.',
  outside: 'The restart of Llamastead is run from outside of it:',
  whole: 'Whole answer',
  stream: 'Streamed answer',
  firstFailure: 'Failure noticed after',
  moved: 'Moved',
  fromTo: (from: string, to: string) => `${from} to ${to}`,
  reason: 'Cause',
  killed: 'the drill killed it',
  cpuStart: 'Fallback started in',
  ranAlready: 'ran already',
  firstToken: 'First word after',
  answered: 'Answered after',
  gpuBack: 'Served again after',
  attempts: 'Attempts',
  kept: 'Kept',
  keptAnswer: 'whole answer',
  keptConnection: 'connection',
  keptId: 'request id',
  others: 'Other containers',
  untouched: (n: number) => `${n} compared, all untouched`,
  changed: (names: string) => `changed: ${names}`,
  memoryLow: 'Least free memory',
  why: 'Report in English',
  measured: 'How it was measured',
};

export type DrillText = typeof enDrill;
