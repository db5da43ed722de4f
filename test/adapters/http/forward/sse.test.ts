import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventData, eventEnd, eventSplitter } from '../../../../app/adapters/http/forward/sse.ts';
import { fc } from '../../../support/property.ts';

const newline = fc.constantFrom('\n', '\r\n');
const line = fc.oneof(
  fc.constantFrom(': ping', 'data: [DONE]', 'event: error', 'data: 안녕하세요 😀', 'data:'),
  fc.string({ unit: 'grapheme', minLength: 1 }).map((text) => `data: ${text.replaceAll(/[\r\n]/g, ' ')}`),
);
const event = fc
  .tuple(fc.array(line, { minLength: 1, maxLength: 3 }), newline)
  .map(([lines, end]) => lines.map((each) => each + end).join('') + end);
const cuts = fc.array(fc.nat(), { maxLength: 30 });

function inPieces(bytes: Buffer, at: readonly number[]): Buffer[] {
  const places = [...new Set(at.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...places].map((from, i) => bytes.subarray(from, places[i] ?? bytes.length));
}

test('however the bytes are cut, the same whole events come out and nothing is lost', () => {
  fc.assert(
    fc.property(
      fc.array(event),
      fc.constantFrom('', 'data: half', 'data: half\n'),
      cuts,
      (events, rest, at) => {
        const stream = Buffer.from(events.join('') + rest);
        const splitter = eventSplitter();
        const out: Buffer[] = [];
        for (const piece of inPieces(stream, at)) {
          const whole = splitter.push(piece);
          if (whole === null) continue;
          out.push(whole);
          // Each piece that comes out is whole events: it ends where one of them ends.
          const sofar = Buffer.concat(out).toString();
          assert.ok(events.some((_, n) => events.slice(0, n + 1).join('') === sofar));
        }
        assert.equal(Buffer.concat(out).toString(), events.join(''));
        assert.equal(splitter.pending(), Buffer.byteLength(rest));
      },
    ),
  );
});

test('events are told apart inside whole bytes', () => {
  fc.assert(
    fc.property(fc.array(event, { minLength: 1 }), (events) => {
      const whole = Buffer.from(events.join(''));
      const found: string[] = [];
      for (let start = 0; start < whole.length; ) {
        const end = eventEnd(whole, start);
        found.push(whole.toString('utf8', start, end));
        start = end;
      }
      assert.deepEqual(found, events);
    }),
  );
});

test('the data of an event is its data lines, without one blank and line ends', () => {
  assert.equal(eventData('data: {"a":1}\n\n'), '{"a":1}');
  assert.equal(eventData('event: x\r\ndata:a\r\ndata:  b\r\n\r\n'), 'a\n b');
  assert.equal(eventData(': ping\n\n'), null);
});
