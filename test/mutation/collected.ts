/** Stands in for `node:test` while the core is mutated: it keeps the tests, which then run again and again. */

type Body = () => unknown;

export interface Collected {
  readonly name: string;
  readonly body: Body;
}

export const collected: Collected[] = [];
const around: string[] = [];

export function test(name: string, body: Body): void {
  collected.push({ name: [...around, name].join(' > '), body });
}

export function describe(name: string, body: Body): void {
  around.push(name);
  body();
  around.pop();
}
