/** Answers that follow each other on one connection of a client. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { after, test } from 'node:test';
import { chat, fakeLlama, silent, stream } from '../../../support/fake-llama.ts';
import { forwardBench } from '../../../support/forward-bench.ts';

const BODY = JSON.stringify({ model: 'chat', stream: true, messages: [{ role: 'user', content: 'hi' }] });
const REQUEST = `POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`;
const LAST_CHUNK = '0\r\n\r\n';
const gpu = await fakeLlama(silent);
const bench = await forwardBench({ ports: [gpu.port] });

after(async () => {
  await bench.close();
  await gpu.close();
});

/** Sends `requests` streams at once and reads until all have ended. */
async function answersTo(requests: number): Promise<string[]> {
  const socket = net.connect(bench.port, '127.0.0.1');
  let text = '';
  const { promise, resolve } = Promise.withResolvers<void>();
  socket.on('data', (bytes) => {
    text += bytes.toString();
    if (text.split(LAST_CHUNK).length > requests) resolve();
  });
  await once(socket, 'connect');
  socket.write(REQUEST.repeat(requests));
  await promise;
  socket.destroy();
  return text.split(LAST_CHUNK).slice(0, requests);
}

/** The text events of an answer as sent, without the chunks' sizes. */
function events(answer: string): string {
  return answer
    .slice(answer.indexOf('\r\n\r\n') + 4)
    .split('\r\n')
    .filter((_, i) => i % 2 === 1)
    .join('');
}

test('streams that were asked for at once come whole, one after the other', async () => {
  const pieces = [chat.role, chat.text('a'), chat.text('b'), chat.finish, chat.done];
  gpu.behave(stream(pieces));
  for (const answer of await answersTo(3)) assert.equal(events(answer), pieces.join(''));
});

test('a stream that ended leaves no listener on its connection', async () => {
  gpu.behave(stream([chat.role, chat.text('a'), chat.text('b'), chat.finish, chat.done]));
  const warnings: Error[] = [];
  const warned = (warning: Error) => void warnings.push(warning);
  process.on('warning', warned);
  await answersTo(15);
  await new Promise((resolve) => setImmediate(resolve));
  process.off('warning', warned);
  assert.deepEqual(warnings, []);
});
