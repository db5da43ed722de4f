/**
 * Home Assistant's MQTT discovery, device form: one device for the home, one for each model below it. Pure.
 * Format: https://www.home-assistant.io/integrations/mqtt/#mqtt-discovery
 */
import { slug, slugs } from '../../core/slug.ts';
import type { ModelView, View } from '../../core/view.ts';
import type { Scope } from './component-builders.ts';
import type { Component, DeviceDocument, Removed } from './components.ts';
import { type HomeScope, homeEntities, modelEntities } from './entities.ts';
import { hasGpuMemory, ramBudgetMax } from './payloads.ts';
import type { Topics } from './topics.ts';

export interface DiscoveryContext {
  readonly prefix: string;
  readonly instance: string;
  readonly topics: Topics;
  readonly version: string;
  readonly pageUrl: string | null;
}

/** A device as it is announced: retained on `topic`. */
export interface Announcement {
  readonly topic: string;
  readonly document: DeviceDocument;
}

/** Devices that Home Assistant was told of: discovery topic -> component key -> platform. */
export type Announced = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** A message to publish retained. An empty payload clears the topic. */
export interface Retained {
  readonly topic: string;
  readonly payload: string;
}

/** Documents of all devices; the home's comes first, since models name it as theirs. */
export function announcements(view: View, context: DiscoveryContext): readonly Announcement[] {
  const names = slugs(view.models.map((model) => model.name));
  return [
    homeDevice(view, context),
    ...view.models.map((model) => modelDevice(model, names.get(model.name) ?? slug(model.name), context)),
  ];
}

/** What has to be kept to remove them later. */
export function announcedOf(devices: readonly Announcement[]): Announced {
  const platforms = (device: Announcement) =>
    Object.fromEntries(Object.entries(device.document.components).map(([key, c]) => [key, c.platform]));
  return Object.fromEntries(devices.map((device) => [device.topic, platforms(device)]));
}

/**
 * The messages that bring Home Assistant from what it was told before to what is now, in order. A component
 * that is only left out stays there as a ghost, so it is first published as its bare platform.
 */
export function discoveryMessages(
  before: Announced,
  now: readonly Announcement[],
  context: DiscoveryContext,
): readonly Retained[] {
  const gone = Object.keys(before).filter((topic) => !now.some((device) => device.topic === topic));
  return [
    ...gone.flatMap((topic) => removal(topic, context)),
    ...now.flatMap(({ topic, document }) => {
      const removed = removedComponents(before[topic] ?? {}, document);
      const final = { topic, payload: JSON.stringify(document) };
      if (Object.keys(removed).length === 0) return [final];
      const components = { ...document.components, ...removed };
      return [{ topic, payload: JSON.stringify({ ...document, components }) }, final];
    }),
  ];
}

function removedComponents(
  before: Readonly<Record<string, string>>,
  document: DeviceDocument,
): Record<string, Removed> {
  const stale = Object.entries(before).filter(
    ([key, platform]) => document.components[key]?.platform !== platform,
  );
  return Object.fromEntries(stale.map(([key, platform]) => [key, { platform }]));
}

/** The messages that take all of it back, where Home Assistant is told nothing any more. */
export function withdrawal(before: Announced): readonly Retained[] {
  return Object.keys(before).map((topic) => ({ topic, payload: '' }));
}

/** Clears a device, and a model's retained state with it. */
function removal(topic: string, context: DiscoveryContext): readonly Retained[] {
  const config = { topic, payload: '' };
  const [before, after] = discoveryTopic(context.prefix, `${homeId(context.instance)}_model_\0`).split('\0');
  if (!topic.startsWith(before ?? '') || !topic.endsWith(after ?? '')) return [config];
  const name = topic.slice(before?.length, -(after?.length ?? 0));
  return [config, { topic: context.topics.modelState(name), payload: '' }];
}

function discoveryTopic(prefix: string, objectId: string): string {
  return `${prefix}/device/${objectId}/config`;
}

function homeId(instance: string): string {
  return `llamastead_${slug(instance)}`;
}

function homeDevice(view: View, context: DiscoveryContext): Announcement {
  const { topics } = context;
  const id = homeId(context.instance);
  const scope: HomeScope = {
    id,
    entity: entityPart(id),
    state: topics.state,
    availability: topics.availability,
    metrics: topics.metrics,
    event: topics.event,
    ramBudgetMax: ramBudgetMax(view),
    gpuMemory: hasGpuMemory(view),
    command: topics.set,
  };
  const name = context.instance === 'home' ? 'Llamastead' : `Llamastead ${context.instance}`;
  const device = { identifiers: [id], name, manufacturer: 'Llamastead', model: 'Controller' };
  return {
    topic: discoveryTopic(context.prefix, id),
    document: documentOf({ ...device, ...softwareOf(context) }, homeEntities(scope), context),
  };
}

function modelDevice(model: ModelView, name: string, context: DiscoveryContext): Announcement {
  const { topics } = context;
  const home = homeId(context.instance);
  const id = `${home}_model_${name}`;
  const scope: Scope = {
    id,
    entity: entityPart(`${home}_${name}`),
    state: topics.modelState(name),
    availability: topics.availability,
    command: (key) => topics.modelSet(name, key),
  };
  const device = {
    identifiers: [id],
    name: `Llamastead ${model.displayName}`,
    manufacturer: 'Llamastead',
    model: 'Language model',
    via_device: home,
  };
  return {
    topic: discoveryTopic(context.prefix, id),
    document: documentOf({ ...device, ...linkOf(context) }, modelEntities(scope), context),
  };
}

function documentOf(
  device: DeviceDocument['device'],
  components: Readonly<Record<string, Component>>,
  context: DiscoveryContext,
): DeviceDocument {
  return { device, origin: { name: 'Llamastead', sw_version: context.version }, qos: 1, components };
}

function softwareOf(context: DiscoveryContext) {
  return { sw_version: context.version, ...linkOf(context) };
}

/** Home Assistant refuses the whole document for a link that is not http. */
function linkOf(context: DiscoveryContext) {
  const link = context.pageUrl === null ? null : URL.parse(context.pageUrl);
  return link !== null && /^https?:$/.test(link.protocol) ? { configuration_url: link.href } : {};
}

function entityPart(id: string): string {
  return id.replaceAll('-', '_');
}
