import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AppError } from '../../app/errors.ts';
import { scheduledWork } from '../../app/serve/scheduled.ts';
import { load } from '../config/support.ts';
import { manualClock } from '../support/clock.ts';
import { drillReport } from '../support/drill-report.ts';
import {
  homeView,
  memorySettings,
  modelView,
  recordingDrills,
  recordingGate,
} from '../support/edge-fakes.ts';

/** The clock starts on 2026-01-01 at midnight, UTC. */
function home(yaml: string) {
  const clock = manualClock();
  const gate = recordingGate(homeView({ models: [modelView(), modelView({ name: 'small', aliases: [] })] }));
  const settings = memorySettings({ 'models.chat.mode': 'auto', 'models.small.mode': 'auto' });
  const told: string[] = [];
  const write = (_: object, text: string) => void told.push(text);
  const log = { info: write, warn: write };
  const drills = recordingDrills();
  const work = scheduledWork({ gate, settings, drills, clock, log });
  work.follow(load(yaml).config);
  return { clock, gate, settings, drills, told, work };
}

test('loads and unloads are commands, for one model or for all; a mode is a setting', async () => {
  const { clock, gate, settings } = home(`
timezone: UTC
models: {chat: {file: a.gguf}, small: {file: b.gguf}}
schedules:
  - {cron: "0 2 * * *", do: unload}
  - {cron: "0 7 * * *", do: load, model: chat}
  - {cron: "0 8 * * *", do: mode, mode: cpu, model: small}
`);
  clock.advance(3 * 3_600_000);
  assert.deepEqual(gate.commands, [
    { do: 'unload', model: 'chat' },
    { do: 'unload', model: 'small' },
  ]);
  clock.advance(6 * 3_600_000);
  assert.deepEqual(gate.commands.slice(2), [{ do: 'load', model: 'chat' }]);
  await Promise.resolve();
  assert.equal(settings.list()['models.small.mode']?.value, 'cpu');
  assert.equal(settings.list()['models.chat.mode']?.value, 'auto');
});

test('what fails at night is told with its line and why', async () => {
  const { clock, gate, told } = home(`
timezone: UTC
models: {chat: {file: a.gguf}, gone: {file: b.gguf}}
schedules: [{cron: "0 2 * * *", do: load, model: chat}, {cron: "0 3 * * *", do: mode, mode: cpu, model: gone}]
`);
  clock.advance(2 * 3_600_000);
  gate.finish({ ok: false, code: 'capacity', message: 'chat needs 6.2 GiB.' });
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(told, [
    'a schedule runs: 0 2 * * * load chat',
    'a schedule failed: 0 2 * * * load chat: chat needs 6.2 GiB.',
  ]);
  clock.advance(3_600_000);
  await new Promise((resolve) => setImmediate(resolve));
  assert.match(told.at(-1) ?? '', /^a schedule failed: 0 3 \* \* \* mode gone: .*models\.gone\.mode/);
});

test('a drill runs on one model after the other, and is told when it could not be run', async () => {
  const { clock, drills, told } = home(`
timezone: UTC
models: {chat: {file: a.gguf}, small: {file: b.gguf}}
schedules: [{cron: "0 3 * * *", do: drill, scenario: kill}]
`);
  clock.advance(3 * 3_600_000);
  assert.deepEqual(drills.asked, [{ scenario: 'kill', model: 'chat' }]);
  drills.finish(drillReport());
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(drills.asked.slice(1), [{ scenario: 'kill', model: 'small' }]);
  drills.finish(new AppError('drill_refused', 'small was in use for 60 s.'));
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(
    told.at(-1),
    'a schedule failed: 0 3 * * * drill all: drill of small: small was in use for 60 s.',
  );
});

test('a new configuration takes the place of the old', () => {
  const { clock, gate, work } = home('schedules: [{cron: "* * * * *", do: load}]');
  work.follow(load('timezone: UTC\nschedules: [{cron: "0 5 * * *", do: unload, model: chat}]').config);
  clock.advance(6 * 3_600_000);
  assert.deepEqual(gate.commands, [{ do: 'unload', model: 'chat' }]);
  work.stop();
  assert.equal(clock.alarms(), 0);
});
