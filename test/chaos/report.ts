/** A run in words. */
import type { Generation } from './logs/generations.ts';
import type { ChaosOptions } from './options.ts';
import type { Run } from './run.ts';

const MOST_FINDINGS = 40;

export function report({ minutes, seed, clients }: Omit<ChaosOptions, 'evidence'>, run: Run): string {
  const { first, last, most } = run.memory;
  const faults = new Map<string, number>();
  for (const { fault } of run.strikes) faults.set(fault, (faults.get(fault) ?? 0) + 1);
  return [
    `${minutes} min, seed ${seed}, ${clients} clients: ${run.requests} requests, ${run.strikes.length} faults`,
    `  ends: ${counted(run.outcomes)}`,
    `  faults: ${counted(faults)}`,
    `  ends by an error: ${run.errors.size === 0 ? 'none' : ''}`,
    ...[...run.errors].sort(([, a], [, b]) => b - a).map(([words, count]) => `    ${count} x ${words}`),
    `  llama-servers' own logs: ${generationsIn(run.generations)}`,
    `  streams that changed their placement: ${run.moved}, with ${run.seams.met} seams in a text`,
    `  seams compared: ${run.seams.compared}, and ${run.seams.begins} texts before one`,
    `  controller's memory: ${mib(first)} at first, ${mib(last)} at last, ${mib(most)} at most`,
    run.findings.length === 0 ? '  every promise kept' : `  ${run.findings.length} promises broken:`,
    ...run.findings
      .slice(0, MOST_FINDINGS)
      .map(({ rule, request, what }) => `    ${rule}: ${request} ${what}`),
  ].join('\n');
}

function generationsIn(generations: readonly Generation[]): string {
  const ends = new Map<string, number>();
  for (const { end } of generations) {
    const kind = end?.kind ?? 'gone with their container';
    ends.set(kind, (ends.get(kind) ?? 0) + 1);
  }
  const containers = new Set(generations.map(({ container }) => container)).size;
  const own = generations.filter(({ mark }) => mark === null).length;
  return `${generations.length} generations in ${containers} containers (${own} proofs that one serves): ${counted(ends)}`;
}

function counted(counts: ReadonlyMap<string, number>): string {
  return [...counts].map(([name, count]) => `${name} ${count}`).join(', ');
}

function mib(bytes: number): string {
  return `${Math.round(bytes / 2 ** 20)} MiB`;
}
