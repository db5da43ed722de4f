import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { ggufFile } from '../../home/models/gguf.ts';
import { halfBits } from '../../home/models/half.ts';
import { byteCharacter, special, tinyLanguage } from '../../home/models/tiny-language.ts';
import { tinyModel } from '../../home/models/tiny-model.ts';
import { fc } from '../../support/property.ts';

const language = tinyLanguage();

/** Byte-pair encoding as llama.cpp does it: the adjacent pair of the lowest rank joins first. */
function tokenize(piece: string): string[] {
  const ranks = new Map(language.merges.map((merge, rank) => [merge, rank]));
  const parts = [...Buffer.from(piece)].map(byteCharacter);
  for (;;) {
    const pairs = parts
      .slice(1)
      .map((part, at) => ranks.get(`${parts[at]} ${part}`) ?? Number.POSITIVE_INFINITY);
    const lowest = Math.min(...pairs);
    if (lowest === Number.POSITIVE_INFINITY) return parts;
    const at = pairs.indexOf(lowest);
    parts.splice(at, 2, `${parts[at]}${parts[at + 1]}`);
  }
}

/** The text of a token, the reverse of byteCharacter. */
function textOf(token: string): string {
  const bytes = new Map(Array.from({ length: 256 }, (_, byte) => [byteCharacter(byte), byte]));
  return Buffer.from([...token].map((character) => bytes.get(character) ?? 0)).toString();
}

test('every word that the model says is one token again when its text is tokenized', () => {
  const words = language.words.filter((id) => id !== language.ids(special.turnEnd));
  for (const id of words) {
    const token = language.tokens[id] ?? '';
    assert.deepEqual(tokenize(textOf(token)), [token]);
  }
});

test('every word is whole characters, so that an answer is valid text at each token', () => {
  for (const id of language.words) assert.doesNotMatch(textOf(language.tokens[id] ?? ''), /\uFFFD/);
});

test('every word has followers, and each of them has followers up to the end of the turn', () => {
  const end = language.ids(special.turnEnd);
  for (const [, followers] of language.followers) {
    assert.ok(followers.length > 0);
    for (const follower of followers) assert.ok(follower === end || language.followers.has(follower));
  }
  for (const id of [...language.openers.answer, ...language.openers.sentence]) {
    assert.ok(language.followers.has(id));
  }
});

test('bytes have different printable characters', () => {
  const characters = Array.from({ length: 256 }, (_, byte) => byteCharacter(byte));
  assert.equal(new Set(characters).size, 256);
  assert.equal(byteCharacter(0x20), 'Ġ');
  assert.equal(byteCharacter(0x0a), 'Ċ');
});

test('half precision is the nearest: numbers that it can hold come back, others within half a step', () => {
  const decode = (bits: number) => {
    const fraction = 1 + (bits & 0x3ff) / 1024;
    return ((bits & 0x8000) === 0 ? 1 : -1) * fraction * 2 ** (((bits >>> 10) & 31) - 15);
  };
  const normal = fc.double({ min: 2 ** -14, max: 65_000, noNaN: true });
  fc.assert(
    fc.property(normal, fc.boolean(), (size, negative) => {
      const value = Math.fround(negative ? -size : size);
      const error = Math.abs(decode(halfBits(value)) - value);
      assert.ok(error <= 2 ** (Math.floor(Math.log2(Math.abs(value))) - 11));
    }),
  );
  assert.equal(halfBits(1), 0x3c00);
  assert.equal(halfBits(-2), 0xc000);
  assert.equal(halfBits(0), 0);
});

test('a GGUF file has its counts, and each tensor starts on a boundary of 32 bytes', () => {
  const one = { name: 'a', shape: [3], format: 'f32', data: new Uint8Array(12).fill(1) } as const;
  const file = Buffer.from(
    ggufFile({ 'general.name': { type: 'string', value: 'x' } }, [one, { ...one, name: 'b' }]),
  );
  assert.equal(file.subarray(0, 4).toString(), 'GGUF');
  assert.deepEqual([file.readUInt32LE(4), file.readBigUInt64LE(8), file.readBigUInt64LE(16)], [3, 2n, 1n]);
  assert.equal(file.length % 32, 0);
  assert.equal(file.readBigUInt64LE(file.indexOf('b', 24) + 1 + 4 + 8 + 4), 32n);
  assert.equal(file[file.length - 64], 1);
  assert.equal(file[file.length - 32], 1);
});

test('the tiny model is the same file each time, and a few MB', () => {
  const [first, second] = [tinyModel(), tinyModel()];
  const sum = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
  assert.equal(sum(first), sum(second));
  assert.ok(first.length > 4e6 && first.length < 8e6);
});
