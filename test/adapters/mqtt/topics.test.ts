import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { commandOf, slugsOf, topicsOf } from '../../../app/adapters/mqtt/topics.ts';

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

describe('slugs', () => {
  it('keep a name that is its own slug, and add a hash only to names that collide with it', () => {
    const slugs = slugsOf(['qwen2.5-7b', 'chat', 'Chat', 'other']);
    assert.equal(slugs.get('chat'), 'chat');
    assert.match(slugs.get('Chat') ?? '', /^chat-[0-9a-f]{4}$/);
    assert.equal(slugs.get('other'), 'other');
    assert.equal(slugs.get('qwen2.5-7b'), 'qwen2-5-7b');
  });

  it('fall back to a hash where nothing of the name is left', () => {
    assert.match(slugsOf(['한국어']).get('한국어') ?? '', /^m-[0-9a-f]{4}$/);
  });

  it('are always fit for a topic and an object id', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.string({ unit: 'grapheme' })), (names) => {
        for (const slug of slugsOf(names).values()) assert.match(slug, /^[a-z0-9-]{1,45}$/);
      }),
    );
  });

  it('do not depend on the order of names', () => {
    const names = ['Chat', 'chat', 'CHAT', 'Tiny'];
    assert.deepEqual(new Map([...slugsOf(names)].sort()), new Map([...slugsOf(names.toReversed())].sort()));
  });
});
