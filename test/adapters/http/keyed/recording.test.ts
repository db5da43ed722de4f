/** Every client of one answer gets the same bytes, whenever it comes, however slow it is, whatever is kept. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { alarms } from '../../../../app/adapters/http/forward/alarms.ts';
import { PROTOCOLS, type Protocol } from '../../../../app/adapters/http/forward/protocols.ts';
import type { Client } from '../../../../app/adapters/http/keyed/reader.ts';
import { newRecording, type Recording } from '../../../../app/adapters/http/keyed/recording.ts';
import { answerTable, type Limits } from '../../../../app/adapters/http/keyed/table.ts';
import { manualClock } from '../../../support/clock.ts';
import { chat } from '../../../support/fake-llama.ts';
import { fc } from '../../../support/property.ts';

const LIMITS: Limits = { answerBytes: 6000, totalBytes: 9000, entryBytes: 100, keptMs: 600_000 };
const GRACE_MS = 60_000;
/** A client's socket takes so much before it is full. */
const SOCKET_BYTES = 1000;
const TOO_SLOW = 'data: {"error":{"code":"idempotency_gone"}}\n\n';
const ABANDONED = 'data: {"error":{"code":"failed_after_output"}}\n\n';
const CHAT = PROTOCOLS.get('/v1/chat/completions') as Protocol;

/** A response whose client reads when it is told to. */
function fakeClient() {
  const heard = { drain: [] as (() => void)[], close: [] as (() => void)[] };
  const got: string[] = [];
  let unread = 0;
  let ended = false;
  let state: 'open' | 'whole' | 'cut' | 'left' = 'open';
  const tell = (event: 'drain' | 'close') => {
    for (const listener of heard[event]) listener();
  };
  const close = (how: 'whole' | 'cut' | 'left') => {
    if (state !== 'open') return;
    state = how;
    tell('close');
  };
  function write(data: Buffer | string): void {
    assert.ok(!ended, 'written after the end');
    got.push(data.toString());
    unread += data.length;
  }
  const res: Client = {
    chunkedEncoding: false,
    get writableNeedDrain() {
      return !ended && unread >= SOCKET_BYTES;
    },
    get writableEnded() {
      return ended;
    },
    get writableLength() {
      return unread;
    },
    writeHead() {
      assert.equal(got.length, 0);
    },
    write,
    end(text?: string) {
      if (text !== undefined) write(text);
      ended = true;
    },
    destroy: () => close('cut'),
    on: (event, listener) => void heard[event].push(listener),
  };
  return {
    res,
    text: () => got.join(''),
    state: () => state,
    unread: () => unread,
    /** Takes all that was sent. */
    read() {
      if (state !== 'open') return;
      unread = 0;
      if (ended) close('whole');
      else tell('drain');
    },
    leave: () => close('left'),
  };
}

interface World {
  readonly recording: Recording;
  readonly clients: ReturnType<typeof fakeClient>[];
  readonly table: ReturnType<typeof answerTable>;
  readonly clock: ReturnType<typeof manualClock>;
  written: string;
  over: boolean;
  paused: number;
}

function newWorld(limits: Limits): World {
  const clock = manualClock();
  const table = answerTable(limits);
  const answer = table.open('id', 'body');
  assert.ok(answer);
  const recording = newRecording({
    ...{ table, answer, clock, protocol: CHAT, alarms: alarms(clock), graceMs: GRACE_MS },
    abandoned: ABANDONED,
    tooSlow: TOO_SLOW,
    changed() {},
    ended() {
      world.over = true;
    },
  });
  const world: World = { recording, clients: [], table, clock, written: '', over: false, paused: 0 };
  attach(world);
  recording.wire.writeHead(200, ['Content-Type', 'text/event-stream', 'X-Request-Id', 'r']);
  return world;
}

/** As the edge does: who comes when the answer cannot be joined is refused. */
function attach(world: World): void {
  const found = world.table.find('id', 'body');
  if (found.kind !== 'here' || world.over) return;
  const client = fakeClient();
  world.clients.push(client);
  world.recording.attach(client.res, ({ headers }) => [...headers]);
}

/** Writes as the forwarder does: it stops where it is told that nobody takes more. */
function write(world: World, event: string): void {
  if (world.over) return;
  if (world.recording.wire.writableNeedDrain) {
    world.paused += 1;
    return;
  }
  world.written += event;
  world.recording.wire.write(Buffer.from(event));
}

type Step = (world: World) => void;
const client = (act: (client: ReturnType<typeof fakeClient>) => void) =>
  fc.nat(5).map(
    (n): Step =>
      ({ clients }) => {
        const one = clients[n % clients.length];
        if (one !== undefined) act(one);
      },
  );
const steps: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.nat(900).map(
      (length): Step =>
        (world) =>
          write(world, chat.text('x'.repeat(length))),
    ),
  },
  { weight: 2, arbitrary: fc.constant<Step>(attach) },
  { weight: 4, arbitrary: client((one) => one.read()) },
  { weight: 1, arbitrary: client((one) => one.leave()) },
  {
    weight: 1,
    arbitrary: fc.nat(40_000).map(
      (ms): Step =>
        ({ clock }) =>
          clock.advance(ms),
    ),
  },
);

function check(world: World): void {
  assert.ok(world.table.bytes() <= LIMITS.totalBytes);
  for (const one of world.clients) {
    const text = one.text();
    const own = text.endsWith(TOO_SLOW) ? text.slice(0, -TOO_SLOW.length) : text;
    assert.ok(`${world.written}${ABANDONED}`.startsWith(own), 'not the bytes of the answer');
    assert.ok(own === '' || own.endsWith('\n\n'), 'cut inside an event');
  }
}

/** All that clients get after an ending. */
function finish(world: World): void {
  for (let i = 0; i < 100; i += 1) for (const one of world.clients) one.read();
  for (const one of world.clients) {
    if (one.state() === 'left') continue;
    assert.notEqual(one.state(), 'open', 'a client was left hanging');
    if (one.state() === 'whole' && !one.text().endsWith(TOO_SLOW)) assert.equal(one.text(), world.written);
  }
}

test('every client gets the same bytes to the end, or an error event, and memory stays bounded', () => {
  fc.assert(
    fc.property(fc.array(steps, { maxLength: 60 }), (list) => {
      const world = newWorld(LIMITS);
      for (const step of list) {
        step(world);
        check(world);
      }
      if (world.over) return;
      world.written += chat.finish + chat.done;
      world.recording.wire.write(Buffer.from(chat.finish + chat.done));
      world.recording.wire.end();
      finish(world);
    }),
    { numRuns: 500 },
  );
});

test('a complete answer that fits is what each later client gets', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(200), { maxLength: 10 }), fc.array(fc.boolean()), (lengths, reads) => {
      const world = newWorld({ ...LIMITS, answerBytes: 1e6, totalBytes: 1e6 });
      for (const [n, length] of lengths.entries()) {
        write(world, chat.text('x'.repeat(length)));
        if (reads[n] === true) attach(world);
        else world.clients.at(-1)?.read();
      }
      write(world, chat.done);
      world.recording.wire.end();
      const found = world.table.find('id', 'body');
      assert.equal(found.kind, 'here');
      finish(world);
      for (const one of world.clients) assert.equal(one.text(), world.written);
    }),
  );
});

test('what one client does not take stays in the answer, not on its connection', () => {
  const world = newWorld(LIMITS);
  attach(world);
  const [slow, quick] = world.clients;
  for (let i = 0; i < 10; i += 1) {
    write(world, chat.text('x'.repeat(200)));
    quick?.read();
  }
  assert.equal(quick?.text(), world.written);
  assert.ok((slow?.unread() ?? 0) < SOCKET_BYTES + 600);
  assert.equal(world.paused, 0);
});

test('an answer that is not kept waits for its only client, and ends with it', () => {
  const world = newWorld(LIMITS);
  const [only] = world.clients;
  while (world.table.find('id', 'body').kind === 'here') write(world, chat.text('x'.repeat(800)));
  write(world, chat.text('y'));
  assert.equal(world.paused, 1);
  only?.read();
  write(world, chat.text('y'));
  assert.equal(world.paused, 1);
  assert.equal(only?.text(), world.written);
  only?.leave();
  assert.equal(world.over, true);
  assert.deepEqual(world.table.find('id', 'body'), { kind: 'gone', why: 'too_large' });
});

test('when an answer becomes too large to be kept, who is behind gets an error event, not the rest at once', () => {
  const world = newWorld(LIMITS);
  for (let i = 0; i < 3; i += 1) attach(world);
  const [quick, ...slow] = world.clients;
  while (world.table.find('id', 'body').kind === 'here') {
    quick?.read();
    write(world, chat.text('x'.repeat(300)));
  }
  for (const one of slow) {
    assert.ok(one.text().endsWith(TOO_SLOW));
    assert.ok(one.unread() < SOCKET_BYTES + 1000, `${one.unread()} bytes were queued`);
  }
  assert.equal(quick?.text(), world.written);
});

test('a client of an answer that is not kept is cut with an error event when others are far ahead', () => {
  const world = newWorld(LIMITS);
  attach(world);
  const [slow, quick] = world.clients;
  const both = () => {
    slow?.read();
    quick?.read();
  };
  for (; world.table.find('id', 'body').kind === 'here'; both()) write(world, chat.text('x'.repeat(800)));
  for (let i = 0; slow?.state() === 'open' && i < 100; i += 1) {
    write(world, chat.text('y'.repeat(10_000)));
    quick?.read();
    if (slow?.text().endsWith(TOO_SLOW)) slow.read();
  }
  assert.equal(slow?.state(), 'whole');
  assert.ok(slow?.text().endsWith(TOO_SLOW));
  assert.equal(quick?.text(), world.written);
  assert.equal(world.paused, 0);
});
