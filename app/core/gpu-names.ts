/** Names of GPUs, and of several that one model uses as one. */

const BETWEEN = '+';

/** The name of two as one; two parts of one GPU have its name. */
export function joinedName(a: string, b: string): string {
  return a === b ? a : `${a}${BETWEEN}${b}`;
}

/** Whether a GPU's name is among those that were made one, or alone. */
export function isNamedIn(joined: string, name: string): boolean {
  return joined === name || joined.split(BETWEEN).includes(name);
}
