/** How long a connection may take, where it is not the instance that is late. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { CHAT_STREAM, fakeLlama, stream } from '../../../support/fake-llama.ts';
import { forwardBench } from '../../../support/forward-bench.ts';
import { ask } from '../../../support/raw-client.ts';

const BODY = { model: 'chat', stream: true, messages: [{ role: 'user', content: 'hi' }] };
const CONNECT_MS = 20;

/** This whole process does nothing for longer than a connection may take. */
const stall = () => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5 * CONNECT_MS);

test('a connection that was made while we were late ourselves is used', async () => {
  const gpu = await fakeLlama(stream(CHAT_STREAM));
  const bench = await forwardBench({
    ports: [gpu.port],
    settings: { connectMs: CONNECT_MS },
    onArrival() {
      // The connection is on its way by then.
      setImmediate(stall);
      return { do: 'grant', instance: 0 };
    },
  });
  after(async () => {
    await bench.close();
    await gpu.close();
  });
  const reply = await ask(`${bench.url}/v1/chat/completions`, BODY);
  assert.equal(reply.text(), CHAT_STREAM.join(''));
  assert.deepEqual(bench.tickets[0]?.outcomes, [{ kind: 'completed' }]);
});
