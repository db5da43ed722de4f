/**
 * The retained messages: discovery documents, availability, states, measurements.
 */

import type { Logger } from 'pino';
import { slug, slugs } from '../../core/slug.ts';
import type { View } from '../../core/view.ts';
import type { Gate } from '../../ports.ts';
import type { Session } from './connection.ts';
import {
  announcedOf,
  announcements,
  type DiscoveryContext,
  discoveryMessages,
  type Retained,
  withdrawal,
} from './discovery.ts';
import type { KeptMemory } from './memory.ts';
import { homeState, metrics, modelState } from './payloads.ts';
import type { Topics } from './topics.ts';

export interface RetainedOptions {
  readonly instance: string;
  readonly discoveryPrefix: string | null;
  readonly version: string;
  readonly pageUrl: string | null;
  readonly gate: Pick<Gate, 'view'>;
  readonly log: Logger;
}

type What = 'all' | 'states' | 'metrics';

export interface RetainedPublisher {
  /** `all`: everything once more, whether it changed or not. Resolves when it is done or given up. */
  publish(what: What): Promise<void>;
}

/** Publishes what changed since it was last told on this connection, one batch after the other. */
export function retainedPublisher(
  options: RetainedOptions,
  topics: Topics,
  memory: KeptMemory,
  current: () => Session | null,
): RetainedPublisher {
  const context: DiscoveryContext | null =
    options.discoveryPrefix === null ? null : { ...options, prefix: options.discoveryPrefix, topics };
  const told = new Map<string, string>();
  let toldOn: Session | null = null;
  let work = Promise.resolve();

  const send = async (session: Session, messages: readonly Retained[]): Promise<boolean> => {
    for (const { topic, payload } of messages) {
      if (told.get(topic) === payload) continue;
      if (!(await session.publish(topic, payload, true))) return false;
      told.set(topic, payload);
    }
    return true;
  };
  const announce = async (session: Session): Promise<boolean> => {
    const before = memory.read().announced;
    const devices = context === null ? [] : announcements(options.gate.view(), context);
    const messages = context === null ? withdrawal(before) : discoveryMessages(before, devices, context);
    if (!(await send(session, messages))) return false;
    const announced = announcedOf(devices);
    if (JSON.stringify(announced) !== JSON.stringify(before)) memory.change({ announced });
    return true;
  };
  const batch = async (what: What) => {
    const session = current();
    if (session === null) return;
    if (what === 'all' || session !== toldOn) told.clear();
    toldOn = session;
    if (what !== 'metrics' && !(await announce(session))) return;
    const online = what === 'all' ? [{ topic: topics.availability, payload: 'online' }] : [];
    await send(session, [...online, ...stateMessages(options.gate.view(), topics, what)]);
  };
  return {
    publish(what) {
      work = work
        .then(() => batch(what))
        .catch((error: unknown) => options.log.error({ error }, 'MQTT: the state could not be published'));
      return work;
    },
  };
}

function stateMessages(view: View, topics: Topics, what: What): readonly Retained[] {
  const names = slugs(view.models.map((model) => model.name));
  const measures = { topic: topics.metrics, payload: JSON.stringify(metrics(view)) };
  if (what === 'metrics') return [measures];
  return [
    { topic: topics.state, payload: JSON.stringify(homeState(view)) },
    ...view.models.map((model) => ({
      topic: topics.modelState(names.get(model.name) ?? slug(model.name)),
      payload: JSON.stringify(modelState(view, model)),
    })),
    ...(what === 'all' ? [measures] : []),
  ];
}
