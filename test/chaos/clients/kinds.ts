/** The kinds of clients, as data: what each sends, and when it goes. */
import type { Random } from '../random.ts';

/** A request, and how its client behaves. */
export interface Plan {
  readonly kind: string;
  readonly path: string;
  readonly body: Record<string, unknown>;
  readonly headers: Record<string, string>;
  /** Bytes of the answer after which the client goes; null: it stays. */
  readonly leavesAfterBytes: number | null;
  /** Milliseconds after which the client goes, whatever came. */
  readonly leavesAfterMs: number | null;
  /** The client goes when it has read this text. */
  readonly leavesAtText: string | null;
  /** Asks once more while the first request runs or after it, by the same Idempotency-Key. */
  readonly twice: boolean;
}

interface Kind {
  readonly weight: number;
  readonly name: string;
  plan(random: Random): Partial<Plan> & { readonly body: Record<string, unknown> };
}

const WORDS = ['garden', 'river', 'lantern', '정원', '강물', 'étoile', '🦙', 'winter', 'bread', '등불'];

const TOOL = {
  type: 'function',
  function: {
    name: 'set_light',
    description: 'Switches a lamp',
    parameters: {
      type: 'object',
      properties: { lamp: { type: 'string', enum: ['kitchen', 'hall'] }, on: { type: 'boolean' } },
      required: ['lamp', 'on'],
    },
  },
};

const SCHEMA = {
  type: 'json_schema',
  json_schema: {
    name: 'reply',
    strict: true,
    schema: {
      type: 'object',
      properties: { mood: { type: 'string', enum: ['calm', 'gay'] } },
      required: ['mood'],
    },
  },
};

function prompt(random: Random): string {
  return Array.from({ length: random.between(3, 30) }, () => random.pick(WORDS)).join(' ');
}

/** A chat that is deterministic on one placement. */
function chat(random: Random, more: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    messages: [{ role: 'user', content: prompt(random) }],
    max_tokens: random.between(20, 400),
    temperature: 0,
    seed: 1,
    ...more,
  };
}

const streamed = { stream: true, stream_options: { include_usage: true } };
/** Long enough to be cut. Not with a grammar, which llama-server does not let go on after its end. */
const endless = { ignore_eos: true };

const KINDS: readonly Kind[] = [
  { name: 'stream', weight: 6, plan: (random) => ({ body: chat(random, { ...streamed, ...endless }) }) },
  { name: 'whole', weight: 4, plan: (random) => ({ body: chat(random, endless) }) },
  {
    name: 'tools',
    weight: 2,
    plan: (random) => ({ body: chat(random, { ...streamed, tools: [TOOL], tool_choice: 'required' }) }),
  },
  { name: 'structured', weight: 1, plan: (random) => ({ body: chat(random, { response_format: SCHEMA }) }) },
  {
    name: 'never',
    weight: 1,
    plan: (random) => ({
      body: chat(random, { ...streamed, ...endless }),
      headers: { 'llamastead-replay': 'never' },
    }),
  },
  {
    name: 'keyed',
    weight: 2,
    plan: (random) => ({
      body: chat(random, random.between(0, 2) === 0 ? endless : { ...streamed, ...endless }),
      headers: { 'idempotency-key': `chaos-${random.between(0, 2 ** 32)}` },
      twice: true,
    }),
  },
  {
    name: 'leaver',
    weight: 2,
    plan: (random) => ({
      body: chat(random, { ...streamed, ...endless }),
      leavesAfterBytes: random.between(1, 20_000),
    }),
  },
  {
    name: 'impatient',
    weight: 1,
    plan: (random) => ({ body: chat(random, endless), leavesAfterMs: random.between(1, 500) }),
  },
  {
    name: 'leaves-at-finish',
    weight: 1,
    plan: (random) => ({
      body: chat(random, { ...streamed, ...endless }),
      leavesAtText: '"finish_reason":"length"',
    }),
  },
  {
    name: 'completions',
    weight: 1,
    plan: (random) => ({
      path: '/v1/completions',
      body: { prompt: prompt(random), max_tokens: random.between(20, 200), stream: true },
    }),
  },
  {
    name: 'messages',
    weight: 1,
    plan: (random) => ({ path: '/v1/messages', body: chat(random, { stream: true }) }),
  },
  {
    name: 'responses',
    weight: 1,
    plan: (random) => ({
      path: '/v1/responses',
      body: { input: prompt(random), max_output_tokens: random.between(20, 200), stream: true },
    }),
  },
];

/**
 * Long plain texts, so that a failure falls into the middle of one. Without what the server keeps of former prompts: a
 * prompt that is read from its middle on is computed in another batch, and its text can be another one.
 */
const STORY: Kind = {
  name: 'story',
  weight: 1,
  plan: (random) => ({
    body: chat(random, {
      ...{ ...streamed, ...endless, cache_prompt: false },
      max_tokens: random.between(200, 500),
    }),
  }),
};

/** @param models names, each as likely as it stands in the list */
export function nextPlan(random: Random, models: readonly string[]): Plan {
  return planOf(random.weighted(KINDS), random, models);
}

/** @param models names of models with one slot: only there is a text the same when it is asked for again */
export function nextStory(random: Random, models: readonly string[]): Plan {
  return planOf(STORY, random, models);
}

function planOf(kind: Kind, random: Random, models: readonly string[]): Plan {
  const { body, ...rest } = kind.plan(random);
  return {
    kind: kind.name,
    path: '/v1/chat/completions',
    headers: {},
    leavesAfterBytes: null,
    leavesAfterMs: null,
    leavesAtText: null,
    twice: false,
    ...rest,
    body: { model: random.pick(models), ...body },
  };
}
