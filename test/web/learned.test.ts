import assert from 'node:assert/strict';
import { test } from 'node:test';
import { learnedText } from '../../app/web/logic/learned.ts';
import { createFormat, LANGUAGES, type Language } from '../../app/web/text/format.ts';
import { loadText } from '../../app/web/text/text.ts';

const GPU = { prompt: 1234.5, generation: 8.24 };

async function say(
  { gpu, tokens }: { readonly gpu?: Partial<typeof GPU>; readonly tokens?: number },
  language: Language = 'en',
): Promise<string | null> {
  const told = gpu && { gpu: { prompt: gpu.prompt ?? null, generation: gpu.generation ?? null } };
  const learned = {
    tokensPerSecond: { cpu: { prompt: 1, generation: 1 }, ...told },
    answerTokens: tokens ?? null,
  };
  return learnedText(learned, 'gpu', (await loadText(language)).model, createFormat(language, 0));
}

test('speeds of the placement and the length of answers are told as far as they are known', async () => {
  assert.equal(
    await say({ gpu: GPU, tokens: 1180 }),
    'reads 1,235 tokens/s, writes 8.2 tokens/s · answers about 1,180 tokens',
  );
  assert.equal(await say({ gpu: GPU }), 'reads 1,235 tokens/s, writes 8.2 tokens/s');
  assert.equal(await say({ gpu: { generation: 31.6 } }), 'writes 32 tokens/s');
  assert.equal(await say({ gpu: { prompt: 64 }, tokens: 1 }), 'reads 64 tokens/s · answers about 1 token');
  assert.equal(await say({ tokens: 2 }), 'answers about 2 tokens');
  assert.equal(await say({}), null);
});

test('they are told in every language', async () => {
  const said = await Promise.all(LANGUAGES.map((language) => say({ gpu: GPU, tokens: 180 }, language)));
  assert.deepEqual(said.slice(1), [
    '읽기 초당 1,235 토큰, 쓰기 초당 8.2 토큰 · 답변은 보통 180 토큰 정도',
    '读取每秒 1,235 个 token，生成每秒 8.2 个 token · 回答约 180 个 token',
  ]);
});
