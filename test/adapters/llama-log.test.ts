import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { generationsOf } from '../support/llama-log.ts';

test('a log that is behind the answers is read again until it holds all of them', async () => {
  const log = [
    'slot launch_slot_: id  0 | task 1 | processing task',
    'slot release: id  0 | task 1 | stop processing',
  ];
  log.push('slot launch_slot_: id  0 | task 2 | processing task');
  const server = createServer(async (request, response) => {
    log.push(
      `got exception: last read: '${await text(request)}'`,
      'slot launch_slot_: | task 3 | processing task',
    );
    response.end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  let lines = 0;
  const read = async () => log.slice(0, lines++).join('\n');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  assert.deepEqual(await generationsOf({ url, key: 'k', read }), { begun: 2, ended: 1 });
  server.close();
});
