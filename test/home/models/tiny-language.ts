/** What the tiny model says: chains of these words. Each word follows another as in at least one sentence. */
const sentences = [
  'The llama keeps the house warm.',
  'The llama watches the gate, and the barn sleeps.',
  'A small llama eats hay in the barn.',
  'A cat sleeps near the warm stove.',
  'The farmer opens the gate in the morning.',
  'In the morning the llama walks to the river.',
  'In winter the wool keeps the farmer warm.',
  'Every evening a lamp shines in the house.',
  'Every llama carries water to the barn.',
  'Water runs under the old bridge to the mill.',
  'The old mill grinds corn, and the cat watches the river.',
  'Corn grows near the fence, and the llama waits.',
  'The stove shines, and the house sleeps.',
  '라마가 집을 지킵니다.',
  '작은 라마가 물을 마십니다.',
];

export const special = { end: '<|endoftext|>', turnStart: '<|im_start|>', turnEnd: '<|im_end|>' } as const;

export interface Language {
  /** All tokens, in the vocabulary's own alphabet (each byte as one printable character). */
  tokens: string[];
  /** Pairs of tokens that join, by rank. */
  merges: string[];
  /** Tokens that the model can say, by id. */
  words: number[];
  /** Which words can follow a word: ids. */
  followers: Map<number, number[]>;
  /** Words that open an answer, and those that open a sentence after any other token. */
  openers: { answer: number[]; sentence: number[] };
  ids: (token: string) => number;
}

/**
 * The vocabulary: 256 bytes, every beginning of every word (so that a byte-pair tokenizer puts a word together
 * from its bytes, and the text of an answer has as many tokens as the answer had), and the special tokens.
 */
export function tinyLanguage(): Language {
  const tokens = Array.from({ length: 256 }, (_, byte) => byteCharacter(byte));
  const index = new Map(tokens.map((token, id) => [token, id]));
  const merges: string[] = [];
  const add = (token: string): number => {
    const known = index.get(token);
    if (known !== undefined) return known;
    index.set(token, tokens.length);
    return tokens.push(token) - 1;
  };
  const word = (text: string): number => {
    const characters = [...Buffer.from(text)].map(byteCharacter);
    for (let length = 2; length <= characters.length; length += 1) {
      const joined = characters.slice(0, length).join('');
      if (index.has(joined)) continue;
      merges.push(`${characters.slice(0, length - 1).join('')} ${characters[length - 1]}`);
      add(joined);
    }
    return add(characters.join(''));
  };
  // Words with a space come first: a tokenizer joins by rank, and must join the space before the word itself.
  const spaced = sentences.map((sentence) => (` ${sentence}`.match(/ \p{L}+|[.,]/gu) ?? []).map(word));
  const chains = spaced.map((chain, place) => {
    const [opener = ''] = sentences[place]?.match(/^\p{L}+/u) ?? [];
    return { opener: word(opener), chain };
  });
  for (const token of Object.values(special)) add(token);
  const ids = (token: string) => index.get(token) ?? -1;
  return { tokens, merges, ids, ...grammar(chains, ids(special.turnEnd)) };
}

interface Chain {
  /** The first word without the space before it, as it opens an answer. */
  opener: number;
  /** The sentence with a space before its first word. */
  chain: number[];
}

function grammar(
  chains: readonly Chain[],
  turnEnd: number,
): Pick<Language, 'words' | 'followers' | 'openers'> {
  const followers = new Map<number, Set<number>>();
  const follow = (from: number, to: number) => {
    const known = followers.get(from);
    if (known === undefined) followers.set(from, new Set([to]));
    else known.add(to);
  };
  const first = (chain: readonly number[]) => chain[0] ?? turnEnd;
  const sentenceOpeners = [...new Set(chains.map(({ chain }) => first(chain)))];
  for (const { opener, chain } of chains) {
    chain.forEach((word, place) => {
      const next = chain[place + 1];
      if (next !== undefined) follow(word, next);
      else for (const to of [...sentenceOpeners, turnEnd]) follow(word, to);
    });
    const second = chain[1];
    if (second !== undefined) follow(opener, second);
  }
  const openers = { answer: [...new Set(chains.map(({ opener }) => opener))], sentence: sentenceOpeners };
  const words = [...new Set([...followers.keys(), ...[...followers.values()].flatMap((to) => [...to])])];
  return { words, followers: new Map([...followers].map(([from, to]) => [from, [...to]])), openers };
}

/**
 * The character that stands for a byte in byte-level byte-pair vocabularies (the convention of GPT-2): printable
 * bytes of Latin-1 stand for themselves, the others follow from U+0100 on.
 */
export function byteCharacter(byte: number): string {
  const printable = (value: number) =>
    (value >= 0x21 && value <= 0x7e) || (value >= 0xa1 && value <= 0xac) || value >= 0xae;
  if (printable(byte)) return String.fromCharCode(byte);
  let unprintableBefore = 0;
  for (let value = 0; value < byte; value += 1) if (!printable(value)) unprintableBefore += 1;
  return String.fromCharCode(0x100 + unprintableBefore);
}
