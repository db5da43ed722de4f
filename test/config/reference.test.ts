import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { refuseModelEnv } from '../../app/config/model-env.ts';
import { imagesSchema } from '../../app/config/schema-machine.ts';
import pkg from '../../package.json' with { type: 'json' };
import { withParts } from './reference.ts';
import { problemsOf } from './support.ts';

const document = await readFile(new URL('../../docs/configuration.md', import.meta.url), 'utf8');
const examples = [...document.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(([, text = '']) => text);

test('the reference in docs/configuration.md is what the schema says', () => {
  assert.equal(document, withParts(document), 'run: node test/config/write-reference.ts');
});

test('every key has a meaning', () => {
  const rows = document.split('\n').filter((line) => line.startsWith('| `'));
  assert.ok(rows.length > 80);
  assert.deepEqual(
    rows.filter((line) => line.split('|').at(-2)?.trim() === ''),
    [],
  );
});

test('every example is a valid configuration', () => {
  assert.ok(examples.length >= 4);
  const outside = { variable: () => 'secret', readFile: () => 'secret' };
  for (const text of examples) assert.deepEqual(problemsOf(text, outside), [], text);
});

test('each README names the images that have to be pulled, and the version', async () => {
  const { mirror: _, ...images } = imagesSchema.parse({});
  for (const file of ['README.md', 'README.ko.md']) {
    const text = await readFile(new URL(`../../${file}`, import.meta.url), 'utf8');
    assert.ok(text.includes(`docker pull ${images.cpu}`), file);
    for (const image of Object.values(images)) assert.ok(text.includes(image.split(':')[1] ?? ''), image);
    assert.ok(text.includes(`llamastead/llamastead:${pkg.version}`), file);
  }
});

test('the message that is shown as an example is the one that is given', () => {
  const shown = /^```text\n(llamastead\.yaml:[\s\S]*?)\n```$/m.exec(document)?.[1];
  const [problem] = problemsOf('models:\n  chat:\n    file: chat.gguf\n    contxt: 8192');
  assert.equal(shown, problem?.text);
});

test('the keys that are said to stand for a refused variable are those that its message names', () => {
  const said = [...document.matchAll(/`(LLAMA_[A-Z_]+)`\s+is\s+`([\w.]+)`/g)];
  assert.ok(said.length >= 5);
  for (const [, name = '', key] of said) assert.ok(refuseModelEnv(name)?.startsWith(`${key} instead`), name);
});
