/** What a reading of the host is made of, and that none of its parts holds up the others. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HostMemory } from '../../app/core/types.ts';
import { watchedHost } from '../../app/serve/host-watch.ts';
import { joinedCards } from '../../app/serve/machine-memory.ts';
import { manualClock } from '../support/clock.ts';
import { host } from '../support/model.ts';

const CARDS = { '0000:03:00.0': { total: 8, used: 5 } };
const containers = { servicesMemory: async () => 3 };
const plain = { sample: async () => host(7) };
const settled = () => new Promise((resolve) => setImmediate(resolve));

test('a reading holds the host, its cards and, from the second one on, its services', async () => {
  const devices = { cards: async () => CARDS };
  const watched = watchedHost({ host: plain, devices, containers, clock: manualClock() });
  assert.deepEqual(await watched.sample(), { ...host(7), services: null, cards: CARDS });
  assert.deepEqual(await watched.sample(), { ...host(7), services: 3, cards: CARDS });
});

test('cards whose files hang hold up no reading, and are asked once', async () => {
  const clock = manualClock();
  const { promise, resolve } = Promise.withResolvers<HostMemory['cards']>();
  let asked = 0;
  const devices = {
    cards: () => {
      asked += 1;
      return promise;
    },
  };
  const watched = watchedHost({ host: plain, devices, containers, clock });
  for (const _ of [1, 2]) {
    const reading = watched.sample();
    await settled();
    clock.advance(500);
    assert.deepEqual((await reading).cards, {});
  }
  assert.equal(asked, 1);
  const reading = watched.sample();
  resolve(CARDS);
  assert.deepEqual((await reading).cards, CARDS);
});

test('the cards of all who tell of some are one reading', async () => {
  const other = { '0000:01:00.0': { total: 4, used: 1 } };
  const source = (cards: HostMemory['cards'], fresh = cards) => ({
    cards: async () => cards,
    fresh: async () => fresh,
  });
  const { cards, fresh } = joinedCards([source(CARDS), source(other, {})]);
  assert.deepEqual(await cards(), { ...CARDS, ...other });
  assert.deepEqual(await fresh(), CARDS);
});
