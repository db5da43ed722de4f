import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type ResponseHead,
  type ResponseSink,
  responseParser,
} from '../../../../app/adapters/http/forward/response-parser.ts';
import { fc } from '../../../support/property.ts';

interface Seen {
  readonly events: string[];
  readonly heads: ResponseHead[];
  readonly sink: ResponseSink;
}

/** What a sink was told: heads, the body in one piece, the end. */
function seen(): Seen {
  const events: string[] = [];
  const heads: ResponseHead[] = [];
  let body: Buffer[] = [];
  const sink: ResponseSink = {
    head(head) {
      heads.push(head);
      events.push(`head ${head.status} ${head.contentType}`);
    },
    data: (chunk) => void body.push(chunk),
    end(reuse) {
      events.push(`body ${Buffer.concat(body).toString()}`, `end ${reuse}`);
      body = [];
    },
  };
  return { events, heads, sink };
}

function inPieces(bytes: Buffer, at: readonly number[]): Buffer[] {
  const places = [...new Set(at.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...places].map((from, i) => bytes.subarray(from, places[i] ?? bytes.length));
}

const text = fc.string({ unit: 'grapheme', minLength: 1 });
const byLength = text.map((body) => ({
  body,
  wire: `HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  reuse: 'now',
}));
const byChunks = fc
  .tuple(fc.array(text), fc.constantFrom('', ';x=1'), fc.boolean())
  .map(([parts, extension, upper]) => {
    const size = (part: string) => {
      const hex = Buffer.byteLength(part).toString(16);
      return upper ? hex.toUpperCase() : hex;
    };
    const chunks = parts.map((part) => `${size(part)}${extension}\r\n${part}\r\n`).join('');
    return {
      body: parts.join(''),
      wire: `HTTP/1.1 200 OK\r\ncontent-type:a/b\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`,
      reuse: 'rested',
    };
  });

test('however the bytes are cut, the same answers are read, one after the other', () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(byLength, byChunks)),
      fc.array(fc.nat(), { maxLength: 40 }),
      (answers, cuts) => {
        const parser = responseParser();
        const { events, sink } = seen();
        for (const { body, wire, reuse } of answers) {
          parser.expect(sink);
          for (const piece of inPieces(Buffer.from(wire), cuts)) assert.equal(parser.feed(piece), true);
          assert.deepEqual(events.splice(0), ['head 200 a/b', `body ${body}`, `end ${reuse}`]);
        }
      },
    ),
  );
});

const CASES: readonly (readonly [name: string, wire: string, events: string[], fed: boolean])[] = [
  [
    'an interim answer',
    'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n',
    ['head 204 null', 'body ', 'end now'],
    true,
  ],
  ['no body', 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n', ['head 200 null', 'body ', 'end now'], true],
  [
    'close',
    'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx',
    ['head 200 null', 'body x', 'end never'],
    true,
  ],
  [
    'HTTP/1.0',
    'HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx',
    ['head 200 null', 'body x', 'end never'],
    true,
  ],
  [
    'trailers',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nA: b\r\n\r\n',
    ['head 200 null', 'body x', 'end rested'],
    true,
  ],
  [
    'bytes that nobody asked for',
    'HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxy',
    ['head 200 null', 'body x', 'end now'],
    false,
  ],
  ['no HTTP', 'SSH-2.0-x\r\n\r\n', [], false],
  ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx', [], false],
  ['a wrong length', 'HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nx', [], false],
  ['another encoding', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n', [], false],
  [
    'a wrong chunk size',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
    ['head 200 null'],
    false,
  ],
  [
    'a chunk that is too long',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxy\r\n',
    ['head 200 null'],
    false,
  ],
  ['a header without a colon', 'HTTP/1.1 200 OK\r\nnonsense\r\n\r\n', [], false],
  ['an endless head', `HTTP/1.1 200 OK\r\nA: ${'x'.repeat(70_000)}`, [], false],
];

for (const [name, wire, events, fed] of CASES) {
  test(`${name}: ${fed ? 'read' : 'a broken connection'}`, () => {
    const parser = responseParser();
    const got = seen();
    parser.expect(got.sink);
    assert.equal(parser.feed(Buffer.from(wire)), fed);
    assert.deepEqual(got.events, events);
  });
}

test('a body without a length ends with the connection, one with a length does not', () => {
  for (const [head, whole] of [
    ['HTTP/1.1 200 OK\r\n\r\n', true],
    ['HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n', false],
    ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n', false],
  ] as const) {
    const parser = responseParser();
    const got = seen();
    parser.expect(got.sink);
    parser.feed(Buffer.from(`${head}abc`));
    assert.equal(parser.closed(), whole);
    assert.equal(got.events.includes('body abc'), whole);
  }
});

test('nothing is told after a drop', () => {
  const parser = responseParser();
  const got = seen();
  parser.expect(got.sink);
  parser.feed(Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\na'));
  parser.drop();
  assert.equal(parser.feed(Buffer.from('bc')), false);
  assert.deepEqual(got.events, ['head 200 null']);
});
