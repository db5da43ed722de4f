/** The table as Markdown, aligned so that it reads in a terminal too. */
import type { Row } from './rows.ts';

export function table(rows: readonly Row[], targets: readonly string[]): string {
  const head = ['what', 'Llamastead', ...targets, 'reached', 'goal', ''];
  const cells = rows.map((row) => [
    row.goal.row,
    figure(row, row.ours),
    ...targets.map((name) =>
      figure(row, row.others[name] ?? row.others[name === 'llama-swap' ? 'bare' : '']),
    ),
    ...[reached(row), goal(row), verdict(row)],
  ]);
  const all = [head, head.map(() => '---'), ...cells];
  const widths = head.map((_, column) => Math.max(...all.map((line) => (line[column] ?? '').length)));
  return all
    .map((line) => `| ${line.map((cell, column) => pad(cell, widths[column] ?? 0)).join(' | ')} |`)
    .join('\n');
}

function pad(cell: string, width: number): string {
  return cell === '---' ? '-'.repeat(width) : cell.padEnd(width);
}

function figure({ goal }: Row, value: number | undefined): string {
  return value === undefined ? '' : `${value.toFixed(goal.digits)} ${goal.unit}`.trim();
}

function verdict({ met }: Row): string {
  if (met === null) return 'no baseline';
  return met ? 'met' : 'MISSED';
}

/** `~`: llama-swap did not run, its share is translated from the pass-through's. */
function reached({ goal, others, reached: value }: Row): string {
  if (goal.against === 'value' || Number.isNaN(value)) return '';
  if (goal.against === 'bare') return `${value.toFixed(2)} of bare`;
  return `${others['llama-swap'] === undefined ? '~' : ''}${value.toFixed(2)} of llama-swap`;
}

function goal({ goal: { sense, limit, against, unit } }: Row): string {
  const sign = sense === 'least' ? '>=' : '<=';
  return `${sign} ${limit}${against === 'value' && unit !== '' ? ` ${unit}` : ''}`;
}
