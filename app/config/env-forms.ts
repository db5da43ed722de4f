/**
 * The form of each llama-server variable that a model may have. A wrong one ends llama-server at its start, or it
 * reads another value than the planner. As llama-server 0.7.0 (build 11669) takes them; the contract tests try them on a real one.
 */
export interface Form {
  readonly expected: string;
  readonly takes: (value: string) => boolean;
}

/** llama-server's words; another case is none. */
const ON = ['on', 'true', 'enabled', '1'];
const OFF = ['off', 'false', 'disabled', '0'];
/** Types of a cache's elements that are no quants. */
const PLAIN_CACHES = ['f32', 'f16', 'bf16'];
const CACHES = [...PLAIN_CACHES, 'q8_0', 'q4_0', 'q4_1', 'iq4_nl', 'q5_0', 'q5_1'];
const SPECULATIONS = [
  ...['none', 'draft-simple', 'draft-eagle3', 'draft-mtp', 'draft-dflash', 'draft-dspark'],
  ...['ngram-simple', 'ngram-map-k', 'ngram-map-k4v', 'ngram-mod', 'ngram-cache'],
];

const INT_MAX = 2 ** 31 - 1;
/** Of a number with single precision, and the smallest one of full precision. */
const FLOAT_MAX = 3.4028234e38;
const FLOAT_MIN = 1.1754944e-38;

const SWITCH = oneOf([...ON, ...OFF]);
const SWITCH_OR_AUTO = oneOf([...ON, ...OFF, 'auto', '-1']);
const NUMBER = number('a number, such as 0.7', () => true);
const COUNT = whole(0);
const WHOLE = whole(-INT_MAX);
const CACHE = oneOf(CACHES);
const TEXT: Form = { expected: 'a text', takes: () => true };

/** By the name without its prefix, LLAMA_ARG_. */
const FORMS: Readonly<Record<string, Form>> = {
  // Sampling.
  ...all('TEMPERATURE TOP_P MIN_P PRESENCE_PENALTY FREQUENCY_PENALTY', NUMBER),
  ...all('TOP_K N_PREDICT', WHOLE),
  REPEAT_PENALTY: number('a number over 0, such as 1.1', (value) => value > 0),
  BACKEND_SAMPLING: SWITCH,
  // KV types, batch, flash attention. Its warm-up has two tokens, which a smaller batch does not hold.
  ...all('CACHE_TYPE_K CACHE_TYPE_V', CACHE),
  BATCH: whole(2),
  UBATCH: whole(1),
  CONT_BATCHING: SWITCH,
  FLASH_ATTN: SWITCH_OR_AUTO,
  // Saved points of a prompt: their memory is planned from it.
  CTX_CHECKPOINTS: COUNT,
  // Templates and reasoning.
  ...all('JINJA SKIP_CHAT_PARSING PREFILL_ASSISTANT REASONING_PRESERVE', SWITCH),
  ...all('CHAT_TEMPLATE THINK_BUDGET_MESSAGE REASONING_EFFORT', TEXT),
  CHAT_TEMPLATE_KWARGS: {
    expected: `a JSON object as text, such as '{"enable_thinking": false}'`,
    takes: isJsonObject,
  },
  THINK: oneOf(['auto', 'none', 'deepseek', 'deepseek-legacy']),
  THINK_BUDGET: whole(-1),
  REASONING: SWITCH_OR_AUTO,
  // Speculative decoding; a draft model file is no variable: its memory would not be planned.
  SPEC_TYPE: {
    expected: `one or more of ${SPECULATIONS.join(', ')}, with commas and no blanks between them`,
    takes: (value) => value.split(',').every((word) => SPECULATIONS.includes(word)),
  },
  SPEC_DRAFT_N_MAX: COUNT,
  SPEC_DRAFT_N_MIN: WHOLE,
  ...all('SPEC_DRAFT_P_MIN SPEC_DRAFT_P_SPLIT', NUMBER),
  SPEC_DRAFT_SAMPLING: oneOf(['greedy', 'probabilistic']),
  SPEC_DRAFT_BACKEND_SAMPLING: SWITCH,
  // Positions, and memory nodes of the machine.
  ROPE_SCALING_TYPE: oneOf(['none', 'linear', 'yarn']),
  ...all('ROPE_SCALE ROPE_FREQ_BASE ROPE_FREQ_SCALE', NUMBER),
  ...all('YARN_EXT_FACTOR YARN_ATTN_FACTOR YARN_BETA_SLOW YARN_BETA_FAST', NUMBER),
  YARN_ORIG_CTX: WHOLE,
  NUMA: oneOf(['distribute', 'isolate', 'numactl']),
};

/** By the full name. */
export const ENV_FORMS: ReadonlyMap<string, Form> = new Map(
  Object.entries(FORMS).map(([name, form]) => [`LLAMA_ARG_${name}`, form]),
);

/** llama-server makes no context with a quantised V where flash attention is off. Null: the two go together. */
export function refusePair(env: Readonly<Record<string, string>>): { name: string; expected: string } | null {
  const name = 'LLAMA_ARG_CACHE_TYPE_V';
  const type = env[name];
  if (type === undefined || PLAIN_CACHES.includes(type)) return null;
  if (!OFF.includes(env['LLAMA_ARG_FLASH_ATTN'] ?? '')) return null;
  return { name, expected: `${PLAIN_CACHES.join(', ')}, because LLAMA_ARG_FLASH_ATTN is off` };
}

function all(names: string, form: Form): Record<string, Form> {
  return Object.fromEntries(names.split(' ').map((name) => [name, form]));
}

function oneOf(words: readonly string[]): Form {
  return { expected: `one of ${words.join(', ')}`, takes: (value) => words.includes(value) };
}

function whole(least: number): Form {
  return {
    expected: least === -INT_MAX ? 'a whole number' : `a whole number, at least ${least}`,
    takes: (value) => /^(\d+|-[1-9]\d*)$/.test(value) && Number(value) >= least && Number(value) <= INT_MAX,
  };
}

function number(expected: string, isRight: (value: number) => boolean): Form {
  const takes = (text: string): boolean => {
    if (!/^-?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text)) return false;
    const value = Number(text);
    const size = Math.abs(value);
    return size <= FLOAT_MAX && (size === 0 || size >= FLOAT_MIN) && isRight(value);
  };
  return { expected, takes };
}

function isJsonObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}
