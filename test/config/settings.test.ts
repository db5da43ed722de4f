import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { jsonFile } from '../../app/adapters/json-file.ts';
import { modelDefaults, openSettings, type SettingsBase } from '../../app/config.ts';
import type { JsonFile } from '../../app/ports.ts';
import { load, modelFile } from './support.ts';

const folder = await mkdtemp(join(tmpdir(), 'settings-'));
after(() => rm(folder, { recursive: true }));
let files = 0;

function newPath(): string {
  return join(folder, String(files++), 'settings.json');
}

const TEXT =
  'models: {chat: {file: chat.gguf, idleUnload: 5m}, qwen2.5-7b: {file: b.gguf}}\nmemory: {budget: 6GiB}';

function base(text = TEXT): SettingsBase {
  const loaded = load(text);
  return { loaded, models: modelDefaults(loaded.config, [modelFile('chat.gguf')]) };
}

async function opened(path = newPath()) {
  return { ...(await openSettings(jsonFile(path), base)), path };
}

test('each setting is listed with its value and its source; durations in seconds, sizes in bytes', async () => {
  const { settings } = await opened();
  const list = settings.list();
  assert.deepEqual(list['models.chat.idleUnload'], { value: 300, source: 'file' });
  assert.deepEqual(list['models.chat.mode'], { value: 'auto', source: 'default' });
  assert.deepEqual(list['memory.budget'], { value: 6 * 2 ** 30, source: 'file' });
  assert.deepEqual(list['memory.reserve'], { value: 'auto', source: 'default' });
  assert.deepEqual(list['queue.deadline'], { value: 300, source: 'default' });
  assert.equal(list['models.qwen2.5-7b.mode']?.value, 'auto');
});

test('a setting holds, survives a restart, and is undone by a reset', async () => {
  const { settings, path } = await opened();
  await settings.set('models.chat.mode', 'gpu');
  await settings.set('models.qwen2.5-7b.idleUnload', 'never');
  await settings.set('memory.budget', '4GiB');
  const again = (await openSettings(jsonFile(path), base)).settings;
  assert.deepEqual(again.list()['models.chat.mode'], { value: 'gpu', source: 'settings' });
  assert.deepEqual(again.list()['models.qwen2.5-7b.idleUnload'], { value: 'never', source: 'settings' });
  assert.equal(again.values().get('memory.budget'), 4 * 2 ** 30);
  await again.reset('memory.budget');
  assert.deepEqual(again.list()['memory.budget'], { value: 6 * 2 ** 30, source: 'file' });
  const content: unknown = JSON.parse(await readFile(path, 'utf8'));
  assert.deepEqual(content, { 'models.chat.mode': 'gpu', 'models.qwen2.5-7b.idleUnload': 'never' });
});

test('numbers are seconds and bytes, so that what is listed can be set again', async () => {
  const { settings, path } = await opened();
  await settings.set('models.chat.idleUnload', 600);
  await settings.set('memory.reserve', 2 ** 31);
  await settings.set('queue.deadline', 1.5);
  for (const [key, { value }] of Object.entries(settings.list())) await settings.set(key, value);
  assert.equal(settings.values().get('queue.deadline'), 1500);
  const content = JSON.parse(await readFile(path, 'utf8'));
  assert.equal(content['models.chat.idleUnload'], '10m');
  assert.equal(content['memory.reserve'], '2GiB');
  await settings.set('models.chat.idleUnload', null);
  assert.equal(settings.values().get('models.chat.idleUnload'), 'never');
});

test('what is not a setting, or has a wrong value, is refused by name and changes nothing', async () => {
  const { settings, path } = await opened();
  const wrong: [string, unknown, RegExp][] = [
    ['models.chat.mode', 'fast', /models\.chat\.mode: "fast".*auto, gpu, cpu, off/],
    ['models.nobody.mode', 'gpu', /a model that there is: chat, qwen2\.5-7b/],
    ['models.chat.file', '/etc/passwd', /one of mode, keepLoaded/],
    ['models.chat.env', {}, /one of mode/],
    ['images.cpu', 'evil:1', /expected/],
    ['engines', {}, /expected/],
    ['paths.models', '/', /expected/],
    ['gpus', [], /expected/],
    ['security.adminToken', 'x', /expected/],
    ['memory.budget', -1, /size/],
    ['memory.budget', Number.NaN, /size/],
    ['queue.depth', '5', /whole number/],
    ['models.chat.keepLoaded', 'ON', /true or false/],
    ['failover.returnAfter', '5', /duration/],
    ['failover.silence', '999ms', /at least 1s/],
    ['memory.budgte', '1GiB', /memory\.budget/],
    ['constructor', 1, /expected/],
    ['models.chat.__proto__', 1, /expected/],
    ['log.level', undefined, /a value/],
  ];
  for (const [key, value, message] of wrong) {
    await assert.rejects(settings.set(key, value), { code: 'invalid_setting', message }, key);
  }
  await assert.rejects(settings.reset('images.cpu'), { code: 'invalid_setting' });
  await assert.rejects(settings.setAll({ language: 'ko', 'log.level': 'loud' }), { code: 'invalid_setting' });
  assert.equal(settings.values().size, 0);
  await assert.rejects(readFile(path), { code: 'ENOENT' });
});

test('a change is told once it is durable, with its full key; one that changes nothing is not', async () => {
  const { settings } = await opened();
  const told: unknown[] = [];
  const stop = settings.onChange((changes) => told.push(...changes));
  await settings.setAll({ 'models.chat.mode': 'cpu', language: 'ko' });
  await settings.set('language', 'ko');
  await settings.reset('language');
  await settings.reset('language');
  stop();
  await settings.set('language', 'zh');
  assert.deepEqual(told, [
    { key: 'models.chat.mode', model: 'chat', from: 'auto', to: 'cpu', source: 'settings' },
    { key: 'language', from: 'auto', to: 'ko', source: 'settings' },
    { key: 'language', from: 'ko', to: 'auto', source: 'default' },
  ]);
});

test('changes at the same time are all kept', async () => {
  const { settings, path } = await opened();
  await Promise.all([
    settings.set('language', 'ko'),
    settings.set('log.level', 'debug'),
    settings.set('models.chat.mode', 'off'),
    settings.reset('language'),
  ]);
  const content = JSON.parse(await readFile(path, 'utf8'));
  assert.deepEqual(content, { 'log.level': 'debug', 'models.chat.mode': 'off' });
});

test('a change that cannot be written is refused and does not hold; the next one can be', async () => {
  const path = newPath();
  let full = true;
  const real = jsonFile(path);
  const file: JsonFile = {
    ...real,
    write: (data) => (full ? jsonFile('/dev/null/settings.json').write(data) : real.write(data)),
  };
  const { settings } = await openSettings(file, base);
  await assert.rejects(settings.set('language', 'ko'), { code: 'state_unwritable' });
  assert.equal(settings.list()['language']?.value, 'auto');
  full = false;
  await settings.set('language', 'zh');
  assert.equal(settings.list()['language']?.value, 'zh');
});

test('a broken file is kept aside and told; the file of configuration holds', async () => {
  for (const content of ['{"language": "k', '[]', '3', '\0']) {
    const { settings: first, path } = await opened();
    await first.set('language', 'ko');
    await writeFile(path, content);
    const { settings, problems } = await openSettings(jsonFile(path), base);
    assert.deepEqual(
      problems.map(({ code }) => code),
      ['settings_broken'],
    );
    assert.equal(settings.values().size, 0);
    assert.equal(await readFile(`${path}.broken`, 'utf8'), content);
  }
});

test('an entry that is not known is left out and told; the others hold', async () => {
  const { settings: first, path } = await opened();
  await first.set('language', 'ko');
  await writeFile(path, '{"language": "ko", "old.key": 1, "log.level": 7}');
  const { settings, problems } = await openSettings(jsonFile(path), base);
  assert.deepEqual([...settings.values().keys()], ['language']);
  assert.match(problems[0]?.text ?? '', /old\.key, log\.level/);
  assert.match(await readFile(`${path}.broken`, 'utf8'), /old\.key/);
});

test('the settings of a model that is gone are kept for its return', async () => {
  const { settings, path } = await opened();
  await settings.set('models.chat.mode', 'off');
  const without = () => base('models: {other: {file: o.gguf}}');
  const { settings: later, problems } = await openSettings(jsonFile(path), without);
  assert.deepEqual(problems, []);
  await later.set('language', 'ko');
  assert.equal((await openSettings(jsonFile(path), base)).settings.list()['models.chat.mode']?.value, 'off');
});

test('no temporary file stays behind', async () => {
  const { settings, path } = await opened();
  await settings.set('language', 'ko');
  assert.deepEqual(await readdir(join(path, '..')), ['settings.json']);
});

test('each change is told with what it was, what it is, and where that comes from', async () => {
  const { settings } = await opened();
  const told: unknown[] = [];
  settings.onChange((changes) => told.push(...changes));
  await settings.setAll({ 'models.qwen2.5-7b.mode': 'gpu', 'memory.budget': '4GiB', language: 'auto' });
  await settings.set('models.chat.idleUnload', 'never');
  await settings.set('queue.deadline', '90s');
  await settings.reset('memory.budget');
  await settings.set('schedules', [{ cron: '0 2 * * *', do: 'unload', model: 'chat' }]);
  const schedules = '[{"cron":"0 2 * * *","do":"unload","model":"chat"}]';
  assert.deepEqual(told, [
    { key: 'models.qwen2.5-7b.mode', model: 'qwen2.5-7b', from: 'auto', to: 'gpu', source: 'settings' },
    { key: 'memory.budget', from: 6 * 2 ** 30, to: 4 * 2 ** 30, source: 'settings' },
    { key: 'models.chat.idleUnload', model: 'chat', from: 300, to: 'never', source: 'settings' },
    { key: 'queue.deadline', from: 300, to: 90, source: 'settings' },
    { key: 'memory.budget', from: 4 * 2 ** 30, to: 6 * 2 ** 30, source: 'file' },
    { key: 'schedules', from: '[]', to: schedules, source: 'settings' },
  ]);
});
