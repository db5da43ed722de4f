/** What the edge tells the core of a request's place in the line, and the client of its own. */
import assert from 'node:assert/strict';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { after, test } from 'node:test';
import { isBackground, MARKERS } from '../../../../app/adapters/http/forward/background.ts';
import { readFields } from '../../../../app/adapters/http/forward/body.ts';
import { clientOf, USER_HEADERS } from '../../../../app/adapters/http/forward/client.ts';
import { manualClock } from '../../../support/clock.ts';
import { CHAT_STREAM, fakeLlama, silent, stream } from '../../../support/fake-llama.ts';
import { forwardBench } from '../../../support/forward-bench.ts';
import { fc } from '../../../support/property.ts';
import { ask, post } from '../../../support/raw-client.ts';

const CHAT = { model: 'chat', stream: true, messages: [{ role: 'user', content: 'hi' }] };
const PATH = '/v1/chat/completions';
const gpu = await fakeLlama(silent);
after(() => gpu.close());

function client(headers: IncomingHttpHeaders, user: string | null = null, keysChecked = false): string {
  const socket = { remoteAddress: '10.0.0.7' } as IncomingMessage['socket'];
  return clientOf({ headers, socket }, user, keysChecked);
}

test('a client is its checked key, else the user, else an unchecked key, else its address', () => {
  const key = { authorization: 'Bearer secret-key' };
  const named = { 'x-openwebui-user-id': 'u1' };
  assert.equal(client({}), 'address 10.0.0.7');
  assert.notEqual(client(key), client({ authorization: 'Bearer other' }));
  assert.equal(client(key), client({ 'x-api-key': 'secret-key' }));
  assert.equal(client({ ...key, ...named }), client(named));
  assert.equal(client({ ...key, ...named }, 'u2', true), client(key, null, true));
  assert.equal(client({}, 'u1'), client(named));
  assert.notEqual(client({}, 'secret-key'), client(key));
  const distinct = USER_HEADERS.map((header) => client({ [header]: 'u1' }));
  assert.deepEqual(new Set(distinct), new Set([client({}, 'u1')]));
});

test('no key and no name is readable in what the core is told', () => {
  for (const told of [
    client({ authorization: 'Bearer sk-1234' }),
    client({}, 'Kim'),
    client({}, 'x'.repeat(9000)),
  ])
    assert.match(told, /^(key|user) [\w-]{16}$/);
});

test('the user is read from the body in both forms', () => {
  const user = (fields: object) => {
    const read = readFields(Buffer.from(JSON.stringify(fields)));
    return read.ok ? read.fields.user : 'wrong';
  };
  assert.equal(user({ user: 'u1' }), 'u1');
  assert.equal(user({ metadata: { user_id: 'u2' } }), 'u2');
  for (const none of [{}, { user: '' }, { user: 7 }, { metadata: null }, { metadata: { user_id: 7 } }])
    assert.equal(user(none), null);
});

/** Whether it is background work, as the edge finds it from the bytes. */
function background(messages: unknown, headers: IncomingHttpHeaders = {}): boolean {
  const read = readFields(Buffer.from(JSON.stringify({ model: 'chat', messages })), headers);
  return read.ok && read.fields.background;
}

for (const { app, work, where, begins } of MARKERS) {
  test(`${app}: its ${work} is background work, in a short and in a long prompt`, () => {
    for (const rest of ['\n<chat_history>\nhi\n</chat_history>', ' 안녕 🦙 "\\" '.repeat(3000)]) {
      const message = { role: where, content: begins + rest };
      const other = where === 'system' ? [{ role: 'user', content: 'Name this.' }] : [];
      assert.equal(background([message, ...other]), true);
      assert.equal(
        background([{ ...message, content: [{ type: 'text', text: begins + rest }] }, ...other]),
        true,
      );
    }
  });

  test(`${app}: a chat about its ${work} prompt is a chat`, () => {
    const quoted = `What does this prompt do?\n${begins}`;
    assert.equal(background([{ role: 'user', content: quoted }]), false);
    const earlier = { role: 'user', content: begins };
    const chat = [earlier, { role: 'assistant', content: 'Llamas' }, { role: 'user', content: 'Thanks!' }];
    if (where === 'user') assert.equal(background(chat), false);
  });
}

test('calls that an answer waits for are no background work', () => {
  for (const content of [
    '### Task:\nAnalyze the chat history to determine the necessity of generating search queries',
    '### Task:\nRespond to the user query using the provided context',
    '### Task:\nYou are an autocompletion system.',
    'hello',
  ]) {
    assert.equal(background([{ role: 'user', content }]), false);
  }
  for (const messages of [
    undefined,
    'x',
    [],
    [null],
    [{ role: 'user' }],
    [{ role: 'user', content: [null] }],
  ])
    assert.equal(background(messages), false);
});

test('Open WebUI tells its task by a header', () => {
  const of = (task: string) => isBackground({ 'x-openwebui-task': task }, CHAT);
  assert.equal(of('title_generation'), true);
  assert.equal(of('query_generation'), false);
  assert.equal(of(''), false);
});

test("the client's own word comes first, and a wrong one is refused by name", async () => {
  const title = [{ role: 'user', content: MARKERS[0]?.begins }];
  assert.equal(background(title, { 'llamastead-priority': 'normal' }), false);
  assert.equal(background([], { 'llamastead-priority': ' Background ' }), true);
  const bench = await forwardBench({ ports: [gpu.port] });
  const reply = await ask(bench.url + PATH, CHAT, { 'Llamastead-Priority': 'low' });
  assert.equal(reply.status, 400);
  assert.match(reply.text(), /Llamastead-Priority must be background or normal/);
  await bench.close();
});

test('a long text is cut at no wrong place, whatever is in it', () => {
  const texts = fc.string({ unit: 'binary', minLength: 240, maxLength: 280 });
  fc.assert(
    fc.property(texts, (text) => {
      const content = text + '\\"\n'.repeat(9000);
      const read = readFields(
        Buffer.from(JSON.stringify({ messages: [{ role: 'user', content }], model: '채팅' })),
      );
      assert.equal(read.ok && read.fields.model, '채팅');
    }),
  );
});

test('a waiting stream is told its place in the line, then that it is served', async () => {
  gpu.behave(stream(CHAT_STREAM));
  const clock = manualClock();
  let position = 3;
  const bench = await forwardBench({
    ports: [gpu.port],
    clock,
    onArrival: () => ({ do: 'wait' }),
    positionOf: () => position,
  });
  const sent = post(bench.url + PATH, CHAT);
  const ticket = await bench.ticket(0);
  clock.advance(10_000);
  const reply = await sent.reply;
  position = 1;
  clock.advance(10_000);
  ticket.obey({ do: 'grant', instance: 0 });
  await reply.end;
  const told = [3, 1].map((place) => `: llamastead queue position=${place}\n\n`).join('');
  assert.equal(reply.text(), told + CHAT_STREAM.join(''));
  await bench.close();
});
