import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tidying } from '../../app/serve/tidy.ts';

const MIB = 1024 * 1024;

/** A program that holds `held` MiB, of which a collection leaves 50. */
function program() {
  const made = { held: 100, idle: true, collected: 0 };
  const look = tidying({
    isIdle: () => made.idle,
    held: () => made.held * MIB,
    async collect() {
      made.collected += 1;
      made.held = 50;
    },
  });
  async function looks(times: number): Promise<number> {
    for (let time = 0; time < times; time += 1) await look();
    return made.collected;
  }
  /** Looks, the last of which is the first that collects again. */
  async function calms(collected: number): Promise<void> {
    made.idle = true;
    assert.equal(await looks(11), collected - 1);
    assert.equal(await looks(1), collected);
  }
  return { made, looks, calms };
}

test('what the start left is collected at the first look, once', async () => {
  const { looks } = program();
  assert.equal(await looks(1), 1);
  assert.equal(await looks(100), 1);
});

test('also where a request is there at first', async () => {
  const { made, looks, calms } = program();
  made.idle = false;
  assert.equal(await looks(2), 0);
  await calms(1);
});

test('what a burst took is collected when it is over for twelve looks', async () => {
  const { made, looks, calms } = program();
  await looks(1);
  made.held = 90;
  made.idle = false;
  assert.equal(await looks(100), 1);
  made.idle = true;
  assert.equal(await looks(11), 1);
  made.idle = false;
  await looks(1);
  await calms(2);
});

test('for less than 8 MiB nothing is stopped', async () => {
  const { made, looks } = program();
  await looks(1);
  made.held = 57;
  assert.equal(await looks(100), 1);
  made.held = 58;
  assert.equal(await looks(12), 2);
});
