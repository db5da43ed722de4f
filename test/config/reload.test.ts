import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reloaded, waitsForRestart } from '../../app/config.ts';
import { load } from './support.ts';

test('a reload takes the new values, and names the keys that wait for a restart and stay as they are', () => {
  const running = load('listen: {port: 1000}\nmqtt: {instance: home}\nmemory: {budget: 4GiB}').config;
  const next = load('listen: {port: 2000}\nmqtt: {instance: cabin}\nmemory: {budget: 6GiB}').config;
  assert.deepEqual(waitsForRestart(running, next), ['listen', 'mqtt']);
  const config = reloaded(running, next);
  assert.equal(config.listen.port, 1000);
  assert.equal(config.mqtt.instance, 'home');
  assert.equal(config.memory.budget, 6 * 2 ** 30);
  assert.deepEqual(waitsForRestart(running, config), []);
});
