import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DRILL_SCENARIOS } from '../../app/core/drill.ts';
import { FACT_TYPES, type Fact, type FactType } from '../../app/core/facts.ts';
import type { Reason } from '../../app/core/types.ts';
import { loadConnectText } from '../../app/web/text/connect-text.ts';
import { loadDrillText } from '../../app/web/text/drill-text.ts';
import type { Text } from '../../app/web/text/en.ts';
import { createFormat, LANGUAGES, type Language } from '../../app/web/text/format.ts';
import { phraseProblem } from '../../app/web/text/problems.ts';
import { loadText } from '../../app/web/text/text.ts';

const GIB = 1024 ** 3;
const texts = new Map<Language, Text>();
for (const language of LANGUAGES) texts.set(language, await loadText(language));
const textOf = (language: Language): Text => texts.get(language) ?? assert.fail(language);
const format = (language: Language) => createFormat(language, 540);

const REASONS = Object.keys(textOf('en').reasons) as Reason[];

/** A fact with every field, and one with none but its type: both have to be sayable. */
function variants(type: FactType): readonly Fact[] {
  const bare: Fact = { v: 1, seq: 1, time: '2026-11-30T14:03:09+09:00', type };
  const full = {
    ...bare,
    model: 'chat',
    placement: 'gpu',
    to: 'cpu',
    requestId: 'a',
    requestIds: ['a', 'b'],
    seconds: 130,
    bytes: GIB,
    vram: 2 * GIB,
    need: 6.2 * GIB,
    room: 4.9 * GIB,
    detail: 'Detail',
    key: 'models.chat.mode',
    value: 'cpu',
  } as const;
  const why = ['idle', 'command', 'mode', 'config', 'room', 'failed', 'recovered', 'shutdown'] as const;
  const verdicts = ['passed', 'failed', 'not_applicable'] as const;
  const modes = ['auto', 'gpu', 'cpu', 'off'] as const;
  return [
    bare,
    full,
    ...REASONS.map((reason) => ({ ...full, reason })),
    ...why.map((one) => ({ ...full, why: one })),
    ...modes.map((mode) => ({ ...full, mode })),
    ...DRILL_SCENARIOS.map((scenario) => ({ ...full, scenario })),
    ...verdicts.map((verdict) => ({ ...full, verdict })),
    { ...full, requestIds: ['a'] },
    { ...full, vram: 0 },
  ];
}

it('drills are said whole in every language', async () => {
  for (const language of LANGUAGES) {
    const words = await loadDrillText(language);
    assert.ok(leaves(words) > 60);
    for (const scenario of DRILL_SCENARIOS) {
      const said = words.stops[scenario]('chat');
      assert.match(said, /[.。]$/);
      if (language === 'ko' && said.includes('chat')) assert.match(said, /chat 모델/);
    }
  }
});

it('the Connect view is said whole in every language', async () => {
  const english = await loadConnectText('en');
  for (const language of ['ko', 'zh'] as const) {
    const words = await loadConnectText(language);
    assert.equal(leaves(words), leaves(english));
    assert.deepEqual(same(english, words, ''), ['.webui']);
    if (language === 'zh') assertFullWidth(spoken(words));
  }
});

it('a waiting request is said with its place in every language', () => {
  for (const language of LANGUAGES) {
    const { queued } = textOf(language).request;
    assert.match(queued(3), /3/);
    assert.notEqual(queued(null), '');
  }
});

for (const language of LANGUAGES) {
  describe(`texts in ${language}`, () => {
    it('say every kind of event, with and without its fields', () => {
      for (const type of FACT_TYPES) {
        for (const fact of variants(type)) {
          const said = textOf(language).facts[type](fact, format(language));
          assert.ok(said.length > 5, type);
          assert.doesNotMatch(said, /undefined|null|NaN|\[object|_| {2}|\.\.|。。|\. ?:/, said);
          assert.match(said, /[.。”]$|cpu$/, said);
        }
      }
    });
    it('say every leaf that can be said', () => {
      assert.ok(leaves(textOf(language)) > 150);
    });
  });
}

/** Every plain text, and what every function says of Chinese words. */
function spoken(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value === 'function') return [String(value('今天', '今天', '今天'))];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(spoken) : [];
}

/** Counts texts; an empty one fails, but for what stands between sentences. */
function leaves(value: unknown, key = ''): number {
  if (typeof value === 'string') {
    assert.ok(value.trim() !== '' || key === 'sentenceGap', key);
    return 1;
  }
  if (typeof value === 'function') return 1;
  if (typeof value !== 'object' || value === null) return 0;
  return Object.entries(value).reduce<number>((sum, [inner, text]) => sum + leaves(text, inner), 0);
}

function assertFullWidth(chinese: readonly string[]): void {
  for (const said of chinese) {
    assert.doesNotMatch(said, /\p{Script=Han} ?[,;:!?]|[,;:!?] ?\p{Script=Han}/u, said);
  }
}

/** Paths of plain texts that are the same in both. */
function same(a: unknown, b: unknown, path: string): string[] {
  if (typeof a === 'string') return a === b ? [path] : [];
  if (typeof a !== 'object' || a === null) return [];
  return Object.entries(a).flatMap(([key, inner]) =>
    same(inner, (b as Record<string, unknown>)[key], `${path}.${key}`),
  );
}

describe('languages', () => {
  it('are whole: no plain text is left in English', () => {
    // Names are the same in every language.
    const names = new Set(['events.sentenceGap', 'places.gpu', 'places.cpu', 'modes.gpu', 'modes.cpu']);
    for (const language of ['ko', 'zh'] as const) {
      const left = same(textOf('en'), textOf(language), '').map((path) => path.slice(1));
      assert.deepEqual(
        left.filter((path) => !names.has(path)),
        [],
      );
    }
  });
  it('put 모델 after a name in Korean', () => {
    const ko = textOf('ko');
    for (const type of FACT_TYPES) {
      for (const fact of variants(type).slice(1)) {
        const said = ko.facts[type](fact, format('ko'));
        if (said.includes('chat') && !said.includes('models.chat')) assert.match(said, /chat 모델/, said);
      }
    }
  });
  it('use full-width punctuation in Chinese', () => {
    const { facts, problems, errors, ...rest } = textOf('zh');
    assertFullWidth([...spoken(rest), ...spoken(errors)]);
  });
  it('put a space between Han and Latin letters or digits in Chinese', () => {
    const zh = textOf('zh');
    for (const type of FACT_TYPES) {
      for (const fact of variants(type)) {
        const said = zh.facts[type](fact, format('zh')).replaceAll('\u00a0', ' ');
        assert.doesNotMatch(said, /\p{Script=Han}[A-Za-z0-9]|[A-Za-z0-9]\p{Script=Han}/u, said);
      }
    }
  });
});

describe('problems', () => {
  it('are told in the language where they are known, with their values', () => {
    const problem = {
      code: 'models_folder_empty' as const,
      text: 'English',
      fix: 'Fix',
      params: { folder: '/DATA/models' },
    };
    assert.deepEqual(phraseProblem(problem, textOf('en').problems), { said: 'English', fix: 'Fix' });
    assert.match(phraseProblem(problem, textOf('ko').problems).said, /\/DATA\/models/);
  });
});
