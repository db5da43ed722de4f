/**
 * Names for models, containers and topics: `[a-z0-9-]{1,40}`.
 */

const LONGEST = 40;

/**
 * A text as a slug: lower case, accents dropped, everything else than letters and digits one `-`. A text
 * that would lose letters this way (Korean, Chinese), or that has none, becomes `m-` and 8 hex digits of a
 * hash, so that two such names stay apart.
 */
export function slug(text: string): string {
  const plain = text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  const losesLetters = /[^\P{L}a-z]|[^\P{N}0-9]/u.test(plain);
  const name = plain
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, LONGEST)
    .replace(/^-|-$/g, '');
  return losesLetters || name === '' ? `m-${hash(text)}` : name;
}

/**
 * A different slug for each text, in any order of the texts: where two would collide, each of them gets
 * 4 hex digits of its own text's hash. Equal texts get one slug.
 */
export function slugs(texts: Iterable<string>): ReadonlyMap<string, string> {
  return distinct([...new Set(texts)].map((text) => ({ key: text, name: slug(text) })));
}

/** As `slugs`, for names that were derived from something longer: `key` (a path) tells equal names apart. */
export function distinct(
  entries: readonly { readonly key: string; readonly name: string }[],
): ReadonlyMap<string, string> {
  const byName = Map.groupBy(entries, (entry) => entry.name);
  const result = new Map<string, string>();
  const taken = new Set<string>();
  for (const [name, group] of byName) {
    const [only] = group;
    if (group.length > 1 || only === undefined) continue;
    result.set(only.key, name);
    taken.add(name);
  }
  const colliding = [...byName.values()].filter((group) => group.length > 1).flat();
  for (const entry of colliding.toSorted((a, b) => (a.key < b.key ? -1 : 1))) {
    const name = free(entry.name, entry.key, taken);
    result.set(entry.key, name);
    taken.add(name);
  }
  return result;
}

function free(name: string, key: string, taken: ReadonlySet<string>): string {
  const stem = name.slice(0, LONGEST - 5).replace(/-$/, '');
  for (let salt = 0; ; salt += 1) {
    const candidate = `${stem}-${hash(salt === 0 ? key : `${key}\n${salt}`).slice(0, 4)}`;
    if (!taken.has(candidate)) return candidate;
  }
}

/**
 * The model name of a file: its base name without `.gguf` and without the shard mark
 * (`-00001-of-00004`), as a slug.
 */
export function modelName(file: string): string {
  return slug(displayName(file));
}

/** The file's own name for people: base name without `.gguf` and shard mark. */
export function displayName(file: string): string {
  const base = file.slice(file.lastIndexOf('/') + 1);
  return base.replace(/\.gguf$/i, '').replace(/-\d{5}-of-\d{5}$/, '');
}

/** Two 32-bit FNV-1a style lanes over UTF-16 units, as 8 hex digits: tells names apart, no secret. */
function hash(text: string): string {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) {
    value ^= text.charCodeAt(i);
    value = Math.imul(value, 0x01000193) >>> 0;
  }
  value ^= value >>> 15;
  value = Math.imul(value, 0x2c1b3c6d) >>> 0;
  value ^= value >>> 13;
  return (value >>> 0).toString(16).padStart(8, '0');
}
