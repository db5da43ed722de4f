import assert from 'node:assert/strict';
import { test } from 'node:test';
import { displayName, distinct, modelName, slug, slugs } from '../../app/core/slug.ts';
import { fc } from '../support/property.ts';

const VALID = /^[a-z0-9-]{1,40}$/;

test('a file name becomes a readable name', () => {
  assert.equal(modelName('Qwen2.5-7B-Instruct-Q4_K_M.gguf'), 'qwen2-5-7b-instruct-q4-k-m');
  assert.equal(modelName('vendor/My Model (new).gguf'), 'my-model-new');
  assert.equal(modelName('Crème Brûlée.GGUF'), 'creme-brulee');
});

test('a name neither begins nor ends with a dash, also where it is cut', () => {
  assert.equal(slug('-- a --'), 'a');
  assert.equal(slug(`${'a'.repeat(39)}--b`), 'a'.repeat(39));
  assert.equal(slug('b'.repeat(50)), 'b'.repeat(40));
});

test('digits of a collision have their place in a long name, after a letter', () => {
  const long = `${'a'.repeat(34)} - b`;
  for (const name of slugs([long, long.toUpperCase()]).values()) assert.match(name, /^a{34}-[0-9a-f]{4}$/);
  for (const name of slugs(['c'.repeat(50), 'C'.repeat(50)]).values())
    assert.match(name, /^c{35}-[0-9a-f]{4}$/);
});

test('only the end of a file name is taken for its kind and its shard', () => {
  assert.equal(displayName('a.gguf.old.gguf'), 'a.gguf.old');
  assert.equal(displayName('a-00001-of-00002-b.gguf'), 'a-00001-of-00002-b');
});

test('a hash has its eight digits, and is the same in each run', () => {
  assert.equal(slug('가'), 'm-2f245716');
  assert.equal(slug('가16'), 'm-071bb52c');
});

test('digits that are taken already are followed by others, in any order', () => {
  // Of 1000 names of one slug some begin their hashes alike.
  const names = Array.from({ length: 1000 }, (_, n) => 'a'.concat(' '.repeat(n + 1), 'b'));
  const result = slugs(names);
  assert.equal(new Set(result.values()).size, 1000);
  assert.deepEqual(new Map([...slugs(names.toReversed())].toSorted()), new Map([...result].toSorted()));
});

test('the mark of a shard is no part of the name', () => {
  assert.equal(modelName('big/llama-00001-of-00003.gguf'), 'llama');
  assert.equal(displayName('big/Llama 3-00001-of-00003.gguf'), 'Llama 3');
});

test('a name that would lose letters becomes a hash, each its own', () => {
  const korean = slug('한국어-모델-7b');
  const other = slug('한국말-모델-7b');
  assert.match(korean, /^m-[0-9a-f]{8}$/);
  assert.match(slug('模型'), /^m-[0-9a-f]{8}$/);
  assert.notEqual(korean, other);
  assert.equal(slug('한국어-모델-7b'), korean);
});

test('a name without letters or digits becomes a hash', () => {
  assert.match(slug('...'), /^m-[0-9a-f]{8}$/);
  assert.match(slug(''), /^m-[0-9a-f]{8}$/);
});

test('only names that collide get hex digits, whatever their order', () => {
  const names = ['My Model', 'my-model', 'other'];
  const result = slugs(names);
  assert.equal(result.get('other'), 'other');
  assert.match(result.get('My Model') ?? '', /^my-model-[0-9a-f]{4}$/);
  assert.match(result.get('my-model') ?? '', /^my-model-[0-9a-f]{4}$/);
  assert.notEqual(result.get('My Model'), result.get('my-model'));
  assert.deepEqual(new Map([...slugs(names.toReversed())].toSorted()), new Map([...result].toSorted()));
});

test('a plain name keeps its slug although another one’s digits would make the same', () => {
  const digits = slugs(['a b', 'a-b']).get('a b') ?? '';
  const result = slugs(['a b', 'a-b', digits]);
  assert.equal(result.get(digits), digits);
  assert.equal(new Set(result.values()).size, 3);
});

test('files of one name in two folders stay apart', () => {
  const files = ['a/model.gguf', 'b/model.gguf'];
  const names = distinct(files.map((file) => ({ key: file, name: modelName(file) })));
  assert.equal(new Set(names.values()).size, 2);
});

test('property: a slug is always valid', () => {
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => assert.match(slug(text), VALID)));
  fc.assert(
    fc.property(fc.string({ minLength: 30, maxLength: 60 }), (text) => assert.match(slug(text), VALID)),
  );
});

test('property: slugs of different texts are valid and differ', () => {
  const text = fc.oneof(
    fc.string({ unit: fc.constantFrom('a', 'A', '-', ' ', '가'), maxLength: 5 }),
    fc.string(),
  );
  fc.assert(
    fc.property(fc.uniqueArray(text, { maxLength: 60 }), (texts) => {
      const result = [...slugs(texts).values()];
      assert.equal(result.length, texts.length);
      assert.equal(new Set(result).size, texts.length);
      for (const one of result) assert.match(one, VALID);
    }),
  );
});
