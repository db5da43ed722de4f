/** What must be known of the instance and the text before the text is continued there. */
import type { Failure } from '../../../../core/request.ts';
import type { Asked } from '../ask.ts';
import type { Json } from '../judge.ts';

export type Ask = (path: string, body: Json) => Promise<Asked>;

export type Preflight =
  /** `tokens`: of the text, for this instance's model. */
  { readonly ok: true; readonly tokens: number } | { readonly ok: false; readonly failure: Failure };

/** Whether templates continue a text as it is, by what they were rendered with. */
export type KnownTemplates = Map<string, boolean>;

/** More than there are models and ways to call them. */
const MOST_KNOWN = 1000;
/** Members of a body that a template may read. */
const TEMPLATE_KEYS = ['chat_template_kwargs', 'reasoning_effort', 'enable_thinking', 'reasoning_format'];
const USER: Json = { role: 'user', content: 'x' };
const PROBE = ' a\n b \n';
/** How models open and close their thoughts. */
const OPENS = /<think(?:ing)?>|\[THINK\]|<\|channel\|?>|<seed:think>|<\|START_THINKING\|>|<reason(?:ing)?>/gi;
const CLOSES =
  /<\/think(?:ing)?>|\[\/THINK\]|<\|?message\|>|<\/seed:think>|<\|END_THINKING\|>|<\/reason(?:ing)?>/gi;

export interface PreflightInput {
  readonly ask: Ask;
  readonly text: string;
  readonly body: Json;
  /** What the instance is made from: image, model, environment. */
  readonly profile: string;
  readonly known: KnownTemplates;
}

/** Questions that do not depend on each other are asked at once: the client waits. */
export async function preflight(input: PreflightInput): Promise<Preflight> {
  const template = await continuesText(input);
  if (template !== null) return { ok: false, failure: template };
  const [plain, special] = await Promise.all([tokensOf(input, false), tokensOf(input, true)]);
  if (!plain.ok) return plain;
  if (!special.ok) return special;
  if (plain.tokens.join() !== special.tokens.join()) {
    return refused('it holds special tokens of the model');
  }
  return { ok: true, tokens: plain.tokens.length };
}

async function tokensOf({ ask, text }: PreflightInput, parseSpecial: boolean) {
  const asked = await ask('/tokenize', { content: text, add_special: false, parse_special: parseSpecial });
  if (!asked.ok) return asked;
  const { tokens } = asked.json;
  if (!Array.isArray(tokens)) return refused('its tokens can not be counted');
  return { ok: true as const, tokens: tokens as readonly unknown[] };
}

/**
 * Null: the template of this instance ends with the text that it is to continue, just as it was, and no thinking
 * is open before it.
 */
async function continuesText({ ask, body, profile, known }: PreflightInput): Promise<Failure | null> {
  const kwargs: Record<string, unknown> = {};
  for (const key of TEMPLATE_KEYS) if (key in body) kwargs[key] = body[key];
  const key = JSON.stringify([profile, kwargs]);
  const before = known.get(key);
  if (before === true) return null;
  if (before === false) return TEMPLATE;
  const answer: Json = { role: 'assistant', content: PROBE };
  const [fresh, continued] = await Promise.all([
    ask('/apply-template', { ...kwargs, messages: [USER] }),
    ask('/apply-template', { ...kwargs, messages: [USER, answer] }),
  ]);
  if (!fresh.ok) return fresh.failure;
  // A template that takes no text to continue answers with an error; that is known then, too.
  if (!continued.ok && continued.failure.kind !== 'http') return continued.failure;
  const prompt = String(fresh.json['prompt']);
  const good = continued.ok && String(continued.json['prompt']) === prompt + PROBE && !thinkingIsOpen(prompt);
  if (known.size >= MOST_KNOWN) known.clear();
  known.set(key, good);
  return good ? null : TEMPLATE;
}

const TEMPLATE: Failure = { kind: 'not_resumable', why: "the model's template does not continue a text" };

function thinkingIsOpen(prompt: string): boolean {
  return lastIndex(prompt, OPENS) > lastIndex(prompt, CLOSES);
}

function lastIndex(text: string, pattern: RegExp): number {
  let last = -1;
  for (const match of text.matchAll(pattern)) last = match.index;
  return last;
}

function refused(why: string): { readonly ok: false; readonly failure: Failure } {
  return { ok: false, failure: { kind: 'not_resumable', why } };
}
