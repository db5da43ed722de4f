/**
 * What a request asks of the stub. It stands in the text of the request, so it comes through proxies that
 * write the JSON anew: `[[stub chunks=200 interval=5 seed=3 id=a1 reset=gpu]]`.
 */
export interface Directive {
  /** Text events of a stream. */
  readonly chunks: number;
  /** Between two of them, ms. */
  readonly interval: number;
  /** Same seed, same bytes. */
  readonly seed: number;
  /** Told in the marks. */
  readonly id: string;
  /** Where it is not answered: `gpu`, `cpu`; empty: nowhere. */
  readonly reset: string;
  readonly hang: string;
}

const PLAIN: Directive = { chunks: 8, interval: 0, seed: 0, id: '', reset: '', hang: '' };
const START = '[[stub ';
const LONGEST = 200;

/** The directive as text. */
export function directiveText(directive: Partial<Directive>): string {
  const fields = Object.entries(directive).map(([name, value]) => `${name}=${value}`);
  return `${START}${fields.join(' ')}]]`;
}

/** The directive in a body; without one, or for a field that it lacks, the plain one. */
export function directiveIn(body: Buffer): Directive {
  const start = body.indexOf(START);
  if (start < 0) return PLAIN;
  const text = body.toString('latin1', start + START.length, start + LONGEST);
  const fields = new Map(
    text
      .slice(0, text.indexOf(']]'))
      .split(' ')
      .map((field) => field.split('=') as [string, string | undefined]),
  );
  const number = (name: 'chunks' | 'interval' | 'seed') => Number(fields.get(name) ?? PLAIN[name]);
  return {
    chunks: number('chunks'),
    interval: number('interval'),
    seed: number('seed'),
    id: fields.get('id') ?? '',
    reset: fields.get('reset') ?? '',
    hang: fields.get('hang') ?? '',
  };
}
