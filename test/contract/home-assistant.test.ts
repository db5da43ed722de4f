/**
 * A real Home Assistant, set up as a person does, on the embedded broker with its own settings (MQTT 5).
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type Broker, embeddedBroker, makePassword } from '../../app/adapters/mqtt/broker.ts';
import type { Component } from '../../app/adapters/mqtt/components.ts';
import { announcements, type DiscoveryContext } from '../../app/adapters/mqtt/discovery.ts';
import { type MqttPublisher, mqttPublisher } from '../../app/adapters/mqtt/publisher.ts';
import { topicsOf } from '../../app/adapters/mqtt/topics.ts';
import { systemClock } from '../../app/clock.ts';
import { TOLD_TYPES } from '../../app/core/facts.ts';
import { memoryFile, scriptedHome, silentLog } from '../adapters/mqtt/support/home.ts';
import { homeView, modelView, OUTAGE } from '../adapters/mqtt/support/views.ts';
import { type Bench, ensureBench } from '../home/bench.ts';
import {
  connectToBroker,
  ensureHomeAssistantImage,
  type HomeAssistant,
  startHomeAssistant,
} from '../home/home-assistant/home-assistant.ts';
import { BUILDING } from '../support/building.ts';
import { until } from '../support/until.ts';

const account = { username: 'llamastead', password: makePassword(randomBytes(24)) };
const name = `llamastead-ha-test-${randomBytes(3).toString('hex')}`;
const folder = mkdtempSync(join(tmpdir(), 'llamastead-home-assistant-'));
const pageUrl = 'http://192.168.1.10:11535/';
const context: DiscoveryContext = {
  ...{ prefix: 'homeassistant', instance: 'home', version: '0.1.0', pageUrl },
  topics: topicsOf('llamastead', 'home'),
};
const twoModels = [modelView(), modelView({ name: 'tiny', displayName: 'Tiny 1B', mode: 'cpu' })];
const home = scriptedHome();
home.show({ models: twoModels, lastFailover: null });
const devices = announcements(homeView({ models: twoModels }), context);

const event = 'event.llamastead_home_backend_event';
const automation = {
  id: 'failover_alert',
  alias: 'Failover alert',
  use_blueprint: { path: 'llamastead/failover_alert.yaml', input: { backend_event: event } },
};

/** Events of those that are told and start the automation: one failover, then each chosen type once. */
const CHOSEN = 4;

let bench: Bench;
let broker: Broker;
let publisher: MqttPublisher;
let assistant: HomeAssistant;

const published = () => {
  const made = mqttPublisher({
    ...{
      url: broker.url,
      ...account,
      base: 'llamastead',
      instance: 'home',
      discoveryPrefix: 'homeassistant',
    },
    ...{
      gate: home.gate,
      events: home.events,
      settings: home.settings,
      drills: home.drills,
      memory,
      version: '0.1.0',
      pageUrl,
    },
    ...{ clock: systemClock, random: () => 0, log: silentLog, onBroker: () => {} },
  });
  return made.start().then(() => made);
};
const memory = memoryFile();
const where = () => ({ host: new URL(broker.url).hostname, port: broker.port });
const becomes = (entity: string, state: string) =>
  assistant.api.until(`${entity} becomes ${state}`, () => assistant.api.state(entity)?.state === state);
const ran = () => assistant.api.state('automation.failover_alert')?.attributes;
/** Each entity comes by itself; one is there when Home Assistant can say something of it. */
const isThere = (component: Component) => {
  const state = assistant.api.state(component.default_entity_id)?.state;
  return state !== undefined && state !== 'unavailable';
};
/** Waits until the scripted home was asked for something. */
const asked = until;
const notifications = async () =>
  Object.values((await assistant.api.command('persistent_notification/get')) as object) as {
    title: string;
    message: string;
  }[];

describe('Home Assistant', { timeout: 2 * BUILDING.timeout }, () => {
  before(async () => {
    bench = await ensureBench();
    const image = await ensureHomeAssistantImage(bench);
    const { docker } = bench;
    await docker.run(['network', 'create', '--internal', name]);
    const host = await docker.run([
      'network',
      'inspect',
      '--format',
      '{{(index .IPAM.Config 0).Gateway}}',
      name,
    ]);
    broker = await embeddedBroker({ host, port: 0, ...account, log: silentLog });
    publisher = await published();
    assistant = await startHomeAssistant({
      ...{ docker, image, network: name, name, folder, publish: null },
      automations: [automation],
    });
  }, BUILDING);
  after(async () => {
    await publisher?.stop();
    await broker?.close();
    await assistant?.remove();
    await bench?.docker.run(['network', 'rm', name]);
    rmSync(folder, { recursive: true, force: true });
  });

  it('refuses a wrong password at its set-up, so that a person sees it', async () => {
    const wrong = { ...account, password: 'wrong' };
    await assert.rejects(connectToBroker(assistant.api, { ...where(), ...wrong }), /cannot_connect/);
  });

  it('is set up with its own settings, MQTT 5 among them', async () => {
    await connectToBroker(assistant.api, { ...where(), ...account });
    await becomes('sensor.llamastead_home_status', 'ready');
    const components = devices.flatMap(({ document }) => Object.values(document.components) as Component[]);
    for (const component of components.filter((one) => one.enabled_by_default !== false)) {
      await assistant.api.until(`${component.default_entity_id} is there`, () => isThere(component));
    }
  });

  for (const device of devices) {
    it(`has every entity of ${device.document.device.name}, as it was announced`, async () => {
      const registry = (await assistant.api.command('config/entity_registry/list')) as Record<
        string,
        unknown
      >[];
      for (const component of Object.values(device.document.components) as Component[]) {
        const entry = registry.find((item) => item['unique_id'] === component.unique_id);
        assert.ok(entry, `${component.name} is not there`);
        assert.equal(entry['entity_id'], component.default_entity_id);
        assert.equal(entry['original_name'], component.name);
        assert.equal(entry['entity_category'], component.entity_category ?? null, component.name);
        const off = component.enabled_by_default === false;
        assert.equal(entry['disabled_by'], off ? 'integration' : null, component.name);
        if (off) continue;
        const state = assistant.api.state(component.default_entity_id);
        assert.ok(state && state.state !== 'unavailable', component.name);
        assert.equal(state.attributes['friendly_name'], `${device.document.device.name} ${component.name}`);
        for (const key of [
          'unit_of_measurement',
          'device_class',
          'state_class',
          'options',
          'event_types',
          'max',
        ])
          assert.deepEqual(state.attributes[key], Reflect.get(component, key), `${component.name}: ${key}`);
      }
    });
  }

  it('shows states and measurements as they are', async () => {
    await becomes('sensor.llamastead_home_active_backend', 'gpu');
    await becomes('binary_sensor.llamastead_home_failover_active', 'off');
    await becomes('select.llamastead_home_backend_mode', 'unknown');
    await becomes('select.llamastead_home_tiny_backend_mode', 'cpu');
    await becomes('switch.llamastead_home_keep_loaded', 'off');
    await becomes('number.llamastead_home_chat_idle_unload', '10');
    await becomes('number.llamastead_home_ram_budget', '14');
    await becomes('sensor.llamastead_home_llm_memory', '1.5');
    await becomes('sensor.llamastead_home_host_memory_available', '9');
    await becomes('sensor.llamastead_home_requests', '12');
    await becomes('sensor.llamastead_home_failovers', '2');
    await becomes('sensor.llamastead_home_last_failover', 'unknown');
    await becomes('binary_sensor.llamastead_home_connection', 'on');
  });

  it('has one device for the home and one for each model below it', async () => {
    const devices = (await assistant.api.command('config/device_registry/list')) as Record<string, unknown>[];
    const ours = devices.filter((device) => device['manufacturer'] === 'Llamastead');
    const [root] = ours.filter((device) => device['via_device_id'] === null);
    assert.deepEqual(ours.map((device) => device['name']).sort(), [
      'Llamastead',
      'Llamastead Tiny 1B',
      'Llamastead chat',
    ]);
    assert.equal(root?.['configuration_url'], pageUrl);
    assert.equal(ours.filter((device) => device['via_device_id'] === root?.['id']).length, 2);
  });

  it('sends commands, for all models and for one', async () => {
    const { api } = assistant;
    await api.service('select.select_option', 'select.llamastead_home_backend_mode', { option: 'cpu' });
    await api.service('switch.turn_on', 'switch.llamastead_home_chat_keep_loaded');
    await api.service('number.set_value', 'number.llamastead_home_chat_idle_unload', { value: 2.5 });
    await api.service('number.set_value', 'number.llamastead_home_ram_budget', { value: 7.5 });
    await api.service('button.press', 'button.llamastead_home_load');
    await api.service('button.press', 'button.llamastead_home_tiny_unload');
    await api.service('button.press', 'button.llamastead_home_tiny_restart');
    await asked(() => home.set.length === 5 && home.commands.length === 4);
    assert.deepEqual(
      new Set(home.set),
      new Set([
        { key: 'models.chat.mode', value: 'cpu' },
        { key: 'models.tiny.mode', value: 'cpu' },
        { key: 'models.chat.keepLoaded', value: true },
        { key: 'models.chat.idleUnload', value: 150 },
        { key: 'memory.budget', value: 7.5 * 1024 ** 3 },
      ]),
    );
    assert.deepEqual(home.commands, [
      { do: 'load', model: 'chat' },
      { do: 'load', model: 'tiny' },
      { do: 'unload', model: 'tiny' },
      { do: 'restart', model: 'tiny' },
    ]);
  });

  it('shows a failover, fires its event, and the blueprint tells of it in plain words', async () => {
    const failed = modelView({ placement: 'cpu', status: 'degraded', outage: OUTAGE });
    const fact = {
      type: 'failover',
      model: 'chat',
      placement: 'gpu',
      to: 'cpu',
      reason: 'out_of_memory',
    } as const;
    const { time } = home.happen({ ...fact, requestId: 'r-1', count: 1 });
    home.show({
      models: [
        failed,
        modelView({ name: 'tiny', displayName: 'Tiny 1B', placement: 'none', status: 'stopped' }),
      ],
    });
    home.show({ lastFailover: { time, model: 'chat', reason: 'out_of_memory' } });
    await becomes('binary_sensor.llamastead_home_chat_failover_active', 'on');
    await becomes('sensor.llamastead_home_active_backend', 'cpu');
    await becomes('sensor.llamastead_home_last_failover_reason', 'out_of_memory');
    const shown = await assistant.api.until('the event is fired', () => {
      const state = assistant.api.state(event);
      return state?.attributes['event_type'] === 'failover' ? state : undefined;
    });
    assert.equal(shown.attributes['requestId'], 'r-1');
    assert.equal(shown.attributes['seq'], 1);
    await assistant.api.until('the automation ran', () => ran()?.['last_triggered']);
    // It is triggered before it tells.
    await until(async () => (await notifications()).length > 0);
    const [note] = await notifications();
    assert.equal(note?.title, 'Llamastead: moved to the CPU');
    assert.equal(
      note?.message.replace(/\s+/g, ' '),
      'chat left the GPU because it ran out of memory, and is answered by the CPU.',
    );
  });

  it('takes every type of event, and the blueprint runs only for those chosen', async () => {
    for (const type of TOLD_TYPES.filter((known) => known !== 'recovered'))
      home.happen({ type, model: 'chat' });
    home.happen({ type: 'recovered', model: 'chat', placement: 'gpu', to: 'gpu', reason: 'out_of_memory' });
    await assistant.api.until(
      'the last event',
      () => assistant.api.state(event)?.attributes['event_type'] === 'recovered',
    );
    const runs = async () => {
      const traces = await assistant.api.command('trace/list', { domain: 'automation' });
      return (traces as Record<string, unknown>[]).map((trace) => trace['script_execution']);
    };
    // The last event runs it too, a little later.
    await until(async () => (await runs()).filter((how) => how === 'finished').length >= CHOSEN);
    assert.deepEqual(await runs(), Array(CHOSEN).fill('finished'));
  });

  it('shows all entities again after its own restart, and fires no event again', async () => {
    const before = assistant.api.state(event);
    await assistant.restart();
    await becomes('binary_sensor.llamastead_home_chat_failover_active', 'on');
    await becomes('number.llamastead_home_chat_idle_unload', '10');
    const after = await assistant.api.until('the event is there', () => {
      const state = assistant.api.state(event);
      return state?.state !== 'unavailable' && state;
    });
    assert.deepEqual([after.state, after.attributes['seq']], [before?.state, before?.attributes['seq']]);
  });

  it('loses the entities of a model that is removed', async () => {
    home.show({ models: [modelView()] });
    await assistant.api.until(
      'the model is gone',
      () => assistant.api.state('sensor.llamastead_home_tiny_status') === undefined,
    );
    // One after the other.
    await until(async () => {
      const registry = await assistant.api.command('config/entity_registry/list');
      return !(registry as Record<string, unknown>[]).some((entry) =>
        String(entry['unique_id']).includes('_model_tiny_'),
      );
    });
  });

  it('sees the home go and come back', async () => {
    await publisher.stop();
    await becomes('sensor.llamastead_home_status', 'unavailable');
    await becomes('binary_sensor.llamastead_home_connection', 'off');
    publisher = await published();
    await becomes('sensor.llamastead_home_status', 'ready');
    await becomes('binary_sensor.llamastead_home_connection', 'on');
  });

  it('found nothing malformed in all of this', async () => {
    const lines = await assistant.log();
    assert.ok(
      lines.some((line) => line.includes('homeassistant.components.mqtt')),
      'MQTT logs at level info',
    );
    assert.deepEqual(
      lines.filter((line) => MALFORMED.test(line)),
      [],
    );
    const loggers =
      /^homeassistant\.(components\.(mqtt|sensor|event|number|select|automation)|helpers\.template)/;
    const warned = (await assistant.api.command('system_log/list')) as { name: string; message: unknown }[];
    assert.deepEqual(
      // That a busy machine takes its time is no fault of a document.
      warned.filter((entry) => loggers.test(entry.name) && !/ taking over /.test(String(entry.message))),
      [],
    );
    const { issues } = (await assistant.api.command('repairs/list_issues')) as {
      issues: { domain: string }[];
    };
    assert.deepEqual(
      issues.filter(({ domain }) => ['mqtt', 'automation'].includes(domain)),
      [],
    );
  });
});

/** What Home Assistant 2026.11 says of a document, a component, a state or an event that it refuses. */
const MALFORMED = new RegExp(
  [
    'Invalid MQTT device discovery payload',
    'Unable to parse JSON discovery payload',
    'illegal discovery topic',
    'when processing MQTT discovery message topic',
    'MQTT device information always needs to include a name',
    'Ignoring invalid option received',
    'Invalid (option|value) for',
    'Invalid event type',
    'No valid JSON event payload',
    'Value error while updating state',
    'Template variable (warning|error)',
    'impossible considering device class',
    'does not generate unique IDs',
    'The default_entity_id',
    'does not support Subscription Identifiers',
    'generated invalid automation|Failed to generate automation',
  ].join('|'),
);
