/** Commands on the real settings: what Home Assistant sends is what the settings keep. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { jsonFile } from '../../../app/adapters/json-file.ts';
import { runCommand } from '../../../app/adapters/mqtt/run-command.ts';
import { modelDefaults, openSettings } from '../../../app/config.ts';
import { AppError } from '../../../app/errors.ts';
import { load, modelFile } from '../../config/support.ts';
import { drillReport } from '../../support/drill-report.ts';
import { scriptedHome } from './support/home.ts';

const folder = await mkdtemp(join(tmpdir(), 'mqtt-settings-'));
after(() => rm(folder, { recursive: true }));

const loaded = load('models: {chat: {file: chat.gguf}}');
const base = () => ({ loaded, models: modelDefaults(loaded.config, [modelFile('chat.gguf')]) });
const { settings } = await openSettings(jsonFile(join(folder, 'settings.json')), base);
const { gate, events, drills } = scriptedHome();
const says = (key: string, payload: string, model: string | null = null) =>
  runCommand({ model, key }, payload, { gate, events, settings, drills });
const kept = (key: string) => settings.list()[key]?.value;

test('minutes, GiB, ON and words are kept as what they mean', async () => {
  for (const [key, payload, name, value] of [
    ['mode', 'cpu', 'models.chat.mode', 'cpu'],
    ['keep_loaded', 'ON', 'models.chat.keepLoaded', true],
    ['idle_unload', '5', 'models.chat.idleUnload', 300],
    ['idle_unload', '0.5', 'models.chat.idleUnload', 30],
    ['idle_unload', '0', 'models.chat.idleUnload', 'never'],
    ['ram_budget', '7.5', 'memory.budget', 7.5 * 1024 ** 3],
    ['ram_budget', '6.1', 'memory.budget', Math.round(6.1 * 1024 ** 3)],
  ] as const) {
    assert.deepEqual(await says(key, payload), { key, ok: true, seq: 0 });
    assert.equal(kept(name), value, `${key} ${payload}`);
  }
  assert.equal((await says('idle_unload', '2', 'chat')).ok, true);
  assert.equal(kept('models.chat.idleUnload'), 120);
});

test('what the settings refuse is answered in their words, and changes nothing', async () => {
  const before = kept('models.chat.idleUnload');
  const ack = await says('idle_unload', '99999');
  assert.equal(ack.ok, false);
  assert.match(ack.error ?? '', /^idle_unload: got "99999", expected/);
  assert.equal(kept('models.chat.idleUnload'), before);
});

test('a drill is run on each model that is meant, and is answered when it could be run', async () => {
  const passed = says('drill', 'PRESS');
  assert.deepEqual(drills.asked.at(-1), { scenario: 'kill', model: 'chat' });
  drills.finish(drillReport({ verdict: 'failed' }));
  assert.deepEqual(await passed, { key: 'drill', ok: true, seq: 0 });
  const none = says('drill', 'gpu-gone', 'chat');
  assert.deepEqual(drills.asked.at(-1), { scenario: 'gpu-gone', model: 'chat' });
  drills.finish(drillReport({ verdict: 'not_applicable', why: 'No GPU here.' }));
  assert.match((await none).error ?? '', /drill of chat: No GPU here\./);
  const refused = says('drill', 'hang', 'chat');
  drills.finish(new AppError('drill_refused', 'The GPU is in use.'));
  assert.match((await refused).error ?? '', /The GPU is in use\./);
  assert.match((await says('drill', 'kil')).error ?? '', /got "kil", expected PRESS \(kill\) or one of kill/);
});
