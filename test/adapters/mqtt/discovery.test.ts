import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Component } from '../../../app/adapters/mqtt/components.ts';
import {
  announcedOf,
  announcements,
  type DiscoveryContext,
  discoveryMessages,
} from '../../../app/adapters/mqtt/discovery.ts';
import { homeState, metrics, modelState } from '../../../app/adapters/mqtt/payloads.ts';
import { topicsOf } from '../../../app/adapters/mqtt/topics.ts';
import { TOLD_TYPES } from '../../../app/core/facts.ts';
import { homeView, modelView } from './support/views.ts';

/** Keys that Home Assistant 2026.11's MQTT integration knows: an unknown one vanishes there silently. */
const COMMON = ['platform', 'unique_id', 'default_entity_id', 'name', 'icon', 'entity_category'];
const BASE = [...COMMON, 'enabled_by_default', 'availability_topic'];
const KNOWN: Record<string, readonly string[]> = {
  sensor: [
    ...['state_topic', 'value_template', 'device_class', 'unit_of_measurement', 'state_class', 'options'],
    'suggested_display_precision',
  ],
  binary_sensor: ['state_topic', 'value_template', 'device_class', 'payload_on', 'payload_off'],
  event: ['state_topic', 'event_types', 'device_class'],
  select: ['state_topic', 'value_template', 'command_topic', 'options'],
  button: ['command_topic', 'device_class', 'payload_press'],
  switch: ['state_topic', 'value_template', 'command_topic'],
  number: [
    ...['state_topic', 'value_template', 'command_topic', 'device_class', 'unit_of_measurement'],
    ...['min', 'max', 'step', 'mode'],
  ],
};
const TOP = ['device', 'origin', 'components', 'qos'];
const DEVICE = [
  'identifiers',
  'name',
  'manufacturer',
  'model',
  'sw_version',
  'via_device',
  'configuration_url',
];

const context: DiscoveryContext = {
  prefix: 'homeassistant',
  instance: 'home',
  topics: topicsOf('llamastead', 'home'),
  version: '0.1.0',
  pageUrl: 'http://192.168.1.10:11535/',
};
const twoModels = homeView({ models: [modelView(), modelView({ name: 'tiny', displayName: 'Tiny 1B' })] });
const devices = announcements(twoModels, context);
const components = devices.flatMap((device) =>
  Object.entries(device.document.components).map(([key, c]) => ({ key, device, component: c as Component })),
);
const unknown = (value: object, known: readonly string[]) =>
  Object.keys(value).filter((key) => !known.includes(key));

describe('discovery documents', () => {
  it('have only keys that Home Assistant knows', () => {
    for (const { document } of devices) {
      assert.deepEqual(unknown(document, TOP), []);
      assert.deepEqual(unknown(document.device, DEVICE), []);
      assert.deepEqual(unknown(document.origin, ['name', 'sw_version']), []);
    }
    for (const { key, component } of components)
      assert.deepEqual(unknown(component, [...BASE, ...(KNOWN[component.platform] ?? [])]), [], key);
  });

  it('give every entity an id of its own, from its role, with the domain of its platform', () => {
    const ids = components.map(({ component }) => component.unique_id);
    assert.equal(new Set(ids).size, ids.length);
    const entityIds = components.map(({ component }) => component.default_entity_id);
    assert.equal(new Set(entityIds).size, entityIds.length);
    for (const { component } of components)
      assert.match(component.default_entity_id, new RegExp(`^${component.platform}\\.[a-z0-9_]+$`));
    assert.ok(entityIds.includes('sensor.llamastead_home_active_backend'));
    assert.ok(entityIds.includes('select.llamastead_home_tiny_backend_mode'));
  });

  it('write topics out and lie on a topic that Home Assistant accepts', () => {
    for (const { component } of components)
      for (const [key, value] of Object.entries(component))
        if (key.endsWith('_topic')) assert.match(String(value), /^llamastead\/home\/[a-z0-9_/-]+$/);
    for (const { topic } of devices) assert.match(topic, /^homeassistant\/device\/[a-zA-Z0-9_-]+\/config$/);
  });

  it('read only keys that the state JSON has', () => {
    const states: Record<string, object> = {
      'llamastead/home/state': homeState(twoModels),
      'llamastead/home/metrics': metrics(twoModels),
      'llamastead/home/model/chat/state': modelState(twoModels, modelView()),
      'llamastead/home/model/tiny/state': modelState(twoModels, modelView()),
    };
    for (const { key, component } of components) {
      if (!('value_template' in component) || component.value_template === undefined) continue;
      const read = /^\{\{ value_json\.(\w+) \}\}$/.exec(component.value_template)?.[1] ?? '';
      assert.ok(Object.hasOwn(states[component.state_topic] ?? {}, read), `${key} reads ${read}`);
    }
  });

  it('obey what Home Assistant refuses otherwise', () => {
    for (const { key, component } of components) {
      if (component.platform === 'sensor') {
        assert.equal(component.options !== undefined, component.device_class === 'enum', key);
        if (component.options) assert.ok(!component.state_class && !component.unit_of_measurement, key);
        assert.notEqual(component.entity_category as string | undefined, 'config', key);
      }
      if (component.platform === 'number')
        assert.ok(component.step >= 0.001 && component.max > component.min, key);
    }
  });

  it('hang every model below the home, and link the page', () => {
    const [home, ...models] = devices;
    assert.deepEqual(home?.document.device.identifiers, ['llamastead_home']);
    assert.equal(home?.document.device.configuration_url, 'http://192.168.1.10:11535/');
    assert.equal(models.length, 2);
    for (const model of models) assert.equal(model.document.device.via_device, 'llamastead_home');
    assert.equal(models[1]?.document.device.name, 'Llamastead Tiny 1B');
  });

  it('leave a link out that Home Assistant would refuse the document for', () => {
    for (const pageUrl of ['ftp://nas/', 'nas:11535', null])
      assert.equal(
        announcements(twoModels, { ...context, pageUrl })[0]?.document.device.configuration_url,
        undefined,
      );
  });

  it('let the event entity know every type of fact that something tells', () => {
    const event = components.find(({ key }) => key === 'backend_event')?.component;
    assert.ok(event?.platform === 'event');
    assert.deepEqual(event.event_types, TOLD_TYPES);
  });

  it('keep the connection sensor available when the home is not', () => {
    const connection = components.find(({ key }) => key === 'connection')?.component;
    assert.equal(connection?.availability_topic, undefined);
    for (const { key, component } of components)
      if (key !== 'connection')
        assert.equal(component.availability_topic, 'llamastead/home/availability', key);
  });

  it('have no budget before the memory of the host was read', () => {
    const [home] = announcements(homeView({ memory: null }), context);
    assert.equal(home?.document.components['ram_budget'], undefined);
  });

  it('have free GPU memory only where a GPU has memory of its own', () => {
    const gpu = { name: 'g', kind: 'nvidia', total: null, used: null, models: 0, headroom: 0 } as const;
    for (const [memory, expected] of [
      ['dedicated', 'sensor'],
      ['shared', undefined],
    ] as const) {
      const [home] = announcements(homeView({ gpus: [{ ...gpu, memory }] }), context);
      assert.equal(home?.document.components['gpu_memory_available']?.platform, expected);
    }
  });

  it('keep ids of two homes and of models with alike names apart', () => {
    const other = announcements(twoModels, { ...context, instance: 'home-model-chat' });
    const ids = [...devices, ...other].map((device) => device.topic);
    assert.equal(new Set(ids).size, ids.length);
  });
});

describe('discovery messages', () => {
  const before = announcedOf(devices);
  const messages = (view = twoModels) => discoveryMessages(before, announcements(view, context), context);

  it('are one a device where nothing went away', () => {
    assert.deepEqual(
      messages().map(({ topic }) => topic),
      devices.map((device) => device.topic),
    );
  });

  it('clear the device and the retained state of a model that is gone', () => {
    const left = messages(homeView());
    assert.deepEqual(left.slice(0, 2), [
      { topic: 'homeassistant/device/llamastead_home_model_tiny/config', payload: '' },
      { topic: 'llamastead/home/model/tiny/state', payload: '' },
    ]);
  });

  it('first turn a component that is gone into its bare platform, then leave it out', () => {
    const [first, second] = messages(homeView({ models: twoModels.models, memory: null }));
    assert.equal(first?.topic, second?.topic);
    assert.deepEqual(JSON.parse(first?.payload ?? '').components.ram_budget, { platform: 'number' });
    assert.equal(JSON.parse(second?.payload ?? '').components.ram_budget, undefined);
  });
});
