/** Names of models that were found by scanning. */
import { shortHash } from './profile-hash.ts';

/** The file's name as a slug `[a-z0-9-]`, at most 40 characters; `m-` and a hash where nothing is left. */
export function slugOf(file: string): string {
  const base = baseName(file);
  const slug = base
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 40)
    .replace(/-+$/, '');
  // A name of another script leaves nothing that people would know, such as the `7b` of a Korean name.
  const letters = [...base].filter((char) => /\p{L}/u.test(char));
  const kept = letters.filter((char) => /[a-z]/i.test(char.normalize('NFKD'))).length;
  return slug === '' || kept * 2 < letters.length ? `m-${shortHash(file, 8)}` : slug;
}

/** What people see: the file's own name without folder, ending and shard number. */
export function baseName(file: string): string {
  return (file.split('/').at(-1) ?? file).replace(/\.gguf$/i, '').replace(/-\d{5}-of-\d{5}$/, '');
}

/**
 * A name for each file, all different. Where two would collide, the file highest in the folders (then first
 * by name) keeps the plain name, and the others get 4 hex digits of their path, so that a copy in a folder
 * below does not rename the model that clients use.
 */
export function namesFor(files: readonly string[]): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  const taken = new Set<string>();
  const depth = (file: string) => file.split('/').length;
  const sorted = files.toSorted((a, b) => depth(a) - depth(b) || (a < b ? -1 : a > b ? 1 : 0));
  for (const file of sorted) {
    const slug = slugOf(file);
    let name = slug;
    for (let digits = 4; taken.has(name); digits++)
      name = `${slug.slice(0, 39 - digits)}-${shortHash(file, digits)}`;
    taken.add(name);
    names.set(file, name);
  }
  return names;
}
