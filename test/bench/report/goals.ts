/** What is to be reached: one row of the table each. */

export interface Goal {
  readonly row: string;
  /** Of Llamastead. */
  readonly metric: string;
  readonly unit: string;
  readonly digits: number;
  /**
   * `ratio`: to the same metric of llama-swap in the same run; `bare`: to a bare container's start; `value`: the
   * figure itself.
   */
  readonly against: 'ratio' | 'bare' | 'value';
  readonly sense: 'least' | 'most';
  readonly limit: number;
}

function ratio(row: string, metric: string, unit: string, limit: number, digits = 2): Goal {
  const sense = metric.endsWith('requests/s') ? 'least' : 'most';
  return { row, metric, unit, digits, against: 'ratio', sense, limit };
}

function value(row: string, metric: string, unit: string, limit: number, digits = 0): Goal {
  return { row, metric, unit, digits, against: 'value', sense: 'most', limit };
}

function bare(row: string, metric: string, limit: number): Goal {
  return { row, metric, unit: 'ms', digits: 0, against: 'bare', sense: 'most', limit };
}

const small = (connections: number): Goal[] => [
  ratio(
    `small completions, ${connections} connections`,
    `small ${connections} requests/s`,
    'requests/s',
    3,
    0,
  ),
  ratio(`… p99`, `small ${connections} p99 ms`, 'ms', 0.4),
  ratio(`… CPU a request`, `small ${connections} CPU us`, 'µs', 0.3, 0),
];

export const GOALS: readonly Goal[] = [
  ...small(16),
  ...small(64),
  ratio('small completions, one connection, p50', 'one p50 ms', 'ms', 0.65),
  ratio('first byte of a stream, p50', 'first byte p50 ms', 'ms', 0.95),
  { ...value("64 streams of 5 ms, the upstream's pace", 'streams pace', '', 0.99, 3), sense: 'least' },
  ratio('… CPU a chunk', 'streams CPU us', 'µs', 0.85, 1),
  ratio('… gap p99', 'streams gap p99 ms', 'ms', 1),
  ratio('1 MB body, p50', '1 MB p50 ms', 'ms', 0.75),
  value('failover to a ready CPU, p50', 'failover warm p50 ms', 'ms', 5, 1),
  value('… p99', 'failover warm p99 ms', 'ms', 25, 1),
  value('… of a hang, after its deadline', 'failover hang late ms', 'ms', 5, 1),
  bare('failover to a cold CPU', 'failover cold ms', 1.1),
  bare('wake after an unload', 'wake ms', 1.1),
  value('idle unload, late by at most', 'idle late ms', 'ms', 150),
  value('at rest, RSS', 'rest RSS MB', 'MB', 120),
  value('… of it anonymous', 'rest anonymous MB', 'MB', 60),
  value('… CPU', 'rest CPU %', '%', 0.5, 2),
  value('… written to disks', 'rest disk bytes', 'bytes', 0),
  value('after load, RSS', 'after load RSS MB', 'MB', 170),
];
