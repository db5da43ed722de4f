import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { commandOf, topicsOf } from '../../../app/adapters/mqtt/topics.ts';

describe('topics', () => {
  it('lie below base and instance, as the contract names them', () => {
    const topics = topicsOf('llamastead', 'home');
    assert.equal(topics.availability, 'llamastead/home/availability');
    assert.equal(topics.modelState('chat'), 'llamastead/home/model/chat/state');
    assert.equal(topics.set('mode'), 'llamastead/home/set/mode');
    assert.equal(topics.modelSet('chat', 'mode'), 'llamastead/home/model/chat/set/mode');
  });

  it('are read back as the commands that they stand for', () => {
    const topics = topicsOf('a/b', 'home');
    assert.deepEqual(commandOf('a/b', 'home', topics.set('load')), { model: null, key: 'load' });
    assert.deepEqual(commandOf('a/b', 'home', topics.modelSet('chat', 'load')), {
      model: 'chat',
      key: 'load',
    });
    for (const other of ['a/b/other/set/load', 'a/b/home/state', 'a/b/home/set/load/more', 'a/b/home'])
      assert.equal(commandOf('a/b', 'home', other), null, other);
  });
});
