/** The instrument itself: what it computes, and that the stub says what the directive asks. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fc } from '../support/property.ts';
import { newSamples } from './measure/samples.ts';
import { median, quantile } from './measure/statistics.ts';
import { parseOptions } from './options.ts';
import { rowsOf } from './report/rows.ts';
import { table } from './report/table.ts';
import { PASS_THROUGH_TO_LLAMA_SWAP } from './report/translation.ts';
import { answersFor } from './stub/answers.ts';
import { directiveIn, directiveText } from './stub/directive.ts';
import { requestReader } from './stub/requests.ts';

test('a quantile is one of the values, and as many as it says are not above it', () => {
  fc.assert(
    fc.property(
      fc.array(fc.double({ noNaN: true }), { minLength: 1 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (values, p) => {
        const found = quantile(values, p);
        assert.ok(values.includes(found));
        assert.ok(values.filter((value) => value <= found).length >= p * values.length);
      },
    ),
  );
});

test('a median lies between the halves, and values that are none do not count', () => {
  assert.equal(median([3, Number.NaN, 1, 2]), 2);
  assert.equal(median([4, 1, 2, 3]), 2.5);
  assert.ok(Number.isNaN(median([])));
});

test('a directive comes through a body as it was written', () => {
  const directive = { chunks: 3, interval: 5, seed: 7, id: 'a-1', reset: 'gpu', hang: 'cpu' };
  const body = JSON.stringify({ messages: [{ content: `x ${directiveText(directive)} y` }] });
  assert.deepEqual(directiveIn(Buffer.from(body)), directive);
  assert.deepEqual(directiveIn(Buffer.from('{}')), {
    ...directive,
    chunks: 8,
    interval: 0,
    seed: 0,
    id: '',
    reset: '',
    hang: '',
  });
});

test("the stub's stream is whole HTTP with an end mark, and each seed has its own text", () => {
  const text = (seed: number) => Buffer.concat([...answersFor(4, seed).events]).toString();
  assert.match(text(1), /data: \[DONE\]\n\n\r\n0\r\n\r\n$/);
  assert.equal(text(1).match(/"content":"/g)?.length, 4);
  assert.equal(text(1), text(1));
  assert.notEqual(text(1), text(2));
});

test('requests are read whatever pieces they come in', () => {
  const request = (path: string, body: string) =>
    `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
  const bytes = Buffer.from(request('/a', 'one é') + request('/b', '') + request('/c', 'three'));
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: bytes.length - 1 })), (cuts) => {
      const seen: string[] = [];
      const read = requestReader(({ path, body }) => void seen.push(`${path} ${body.toString()}`));
      const edges = [0, ...new Set(cuts), bytes.length].sort((a, b) => a - b);
      for (const [i, edge] of edges.entries()) if (i > 0) read(bytes.subarray(edges[i - 1], edge));
      assert.deepEqual(seen, ['/a one é', '/b ', '/c three']);
    }),
  );
});

const METRIC = 'one p50 ms';

test('a ratio to llama-swap is taken round by round', () => {
  const samples = newSamples();
  for (const [own, other] of [
    [1, 2],
    [30, 40],
    [2, 4],
  ]) {
    samples.put(METRIC, 'llamastead', own ?? 0);
    samples.put(METRIC, 'llama-swap', other ?? 0);
  }
  const [row] = rowsOf(samples, ['llama-swap']);
  assert.equal(row?.reached, 0.5);
  assert.equal(row?.met, true);
  assert.match(table([row ?? assert.fail()], ['llama-swap']), /0\.50 of llama-swap +\| <= 0\.65 +\| met/);
});

test('without llama-swap the ratio to the pass-through is translated', () => {
  const samples = newSamples();
  samples.put(METRIC, 'llamastead', 3);
  samples.put(METRIC, 'pass-through', 2);
  const [row] = rowsOf(samples, ['pass-through']);
  assert.equal(row?.reached, 1.5 * (PASS_THROUGH_TO_LLAMA_SWAP[METRIC] ?? Number.NaN));
  assert.match(table([row ?? assert.fail()], ['pass-through']), /~0\.8\d of llama-swap/);
});

test('a ratio to nothing is no verdict', () => {
  const samples = newSamples();
  samples.put(METRIC, 'llamastead', 3);
  const [row] = rowsOf(samples, []);
  assert.equal(row?.met, null);
});

test('a wrong option is named with what was expected', () => {
  assert.throws(() => parseOptions(['--only', 'speed']), /--only speed: expected one of forwarding/);
  assert.throws(() => parseOptions(['--rounds', 'x']), /--rounds x: expected a number over 0/);
});
