/**
 * Tells a broker what the home does, and takes its commands. Reads only: the state from the gate, facts
 * from the event log.
 */

import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { slug } from '../../core/slug.ts';
import type { Drills } from '../../ports/drills.ts';
import type { Clock, EventLog, Gate, Settings } from '../../ports.ts';
import { type Connection, connection, type Session } from './connection.ts';
import { type EventTeller, eventTeller } from './event-teller.ts';
import { type KeptMemory, keptMemory, type MemoryFile } from './memory.ts';
import { pace } from './pace.ts';
import { type RetainedPublisher, retainedPublisher } from './retained.ts';
import { commandRunner } from './run-command.ts';
import { type Topics, topicsOf } from './topics.ts';

export interface PublisherOptions {
  /** `mqtt://host:port` or `mqtts://host:port`; the embedded broker's `url`. */
  readonly url: string;
  readonly username: string | null;
  readonly password: string | null;
  /** First part of every topic. */
  readonly base: string;
  readonly instance: string;
  /** Null: Home Assistant is told nothing. */
  readonly discoveryPrefix: string | null;
  readonly gate: Gate;
  readonly events: EventLog;
  readonly settings: Settings;
  readonly drills: Pick<Drills, 'runEach'>;
  /** Position in the events and entities announced: a document of its own, as `mqtt.json`. */
  readonly memory: MemoryFile;
  readonly version: string;
  /** The page, linked from the devices; null where its address is not known. */
  readonly pageUrl: string | null;
  readonly clock: Clock;
  /** In [0, 1): spreads reconnects and the answer to a birth message. */
  readonly random: () => number;
  readonly log: Logger;
  /** Told at each change, the first result included. */
  readonly onBroker: (up: boolean, detail: string | null) => void;
}

export interface MqttPublisher {
  /** Resolves when it has begun to connect; a broker that is not there is tried again. */
  start(): Promise<void>;
  /** Says `offline`, saves its position; resolves when the socket is closed, after 4 s at the latest. */
  stop(): Promise<void>;
  /** True while connected. */
  up(): boolean;
}

const STATE_EVERY = 1_000;
const METRICS_EVERY = 15_000;
/** How long a stop waits for the broker to take what is left to tell. */
const LAST_WORDS = 2_000;
/** Home Assistant was just started and every device answers: 0.2 to 3 s apart. */
const BIRTH_WAIT = { shortest: 200, spread: 2_800 };
/** Where Home Assistant says `online` unless told otherwise. */
const USUAL_BIRTH_TOPIC = 'homeassistant/status';

/** Never throws and never ends the process: a lost broker is told by `onBroker` and tried again. */
export function mqttPublisher(options: PublisherOptions): MqttPublisher {
  let running: { stop(): Promise<void>; up(): boolean } | null = null;
  let stopped = false;
  return {
    async start() {
      const memory = await keptMemory(options.memory, options.events.seq, options.clock, options.log);
      if (!stopped) running = run(options, memory);
    },
    async stop() {
      stopped = true;
      await running?.stop();
    },
    up: () => running?.up() ?? false,
  };
}

function run(options: PublisherOptions, memory: KeptMemory) {
  const { clock, gate, events } = options;
  const topics = topicsOf(options.base, options.instance);
  let session: Session | null = null;
  const retained = retainedPublisher(options, topics, memory, () => session);
  const teller = eventTeller({
    events,
    told: memory.read().told,
    publish: async (payload) => (await session?.publish(topics.event, payload, false)) ?? false,
    onTold: (told) => memory.change({ told }),
    onError: (error) => options.log.error({ error }, 'MQTT: events could not be read'),
  });
  const states = pace(clock, STATE_EVERY, () => void retained.publish('states'));
  const measures = pace(clock, METRICS_EVERY, () => void retained.publish('metrics'));
  const births = birthAnswer(options, () => void retained.publish('all'));
  const link = brokerLink(options, topics, births, {
    onSession(fresh) {
      session = fresh;
      // The event entity has to be there before its events.
      if (fresh !== null) void retained.publish('all').then(teller.wake);
    },
    answer: (ack) => void session?.publish(topics.ack, ack, false),
  });
  const endings = [
    states.stop,
    measures.stop,
    births.stop,
    gate.onChange(() => {
      states.ask();
      measures.ask();
    }),
    events.subscribe(() => {
      if (session !== null) void teller.wake();
    }),
  ];
  link.open();
  return {
    up: () => session !== null,
    async stop() {
      for (const end of endings) end();
      // What the shutdown itself brought is still told, as far as the broker answers.
      if (session !== null) await within(clock, LAST_WORDS, lastWords(retained, teller));
      await link.close();
      session = null;
      await memory.flush();
    },
  };
}

async function lastWords(retained: RetainedPublisher, teller: EventTeller): Promise<void> {
  await Promise.all([retained.publish('states'), retained.publish('metrics'), teller.wake()]);
}

/** Resolves with the work or after `ms`, whichever is first. */
async function within(clock: Clock, ms: number, work: Promise<void>): Promise<void> {
  await new Promise<void>((resolve) => {
    const cancel = clock.at(clock.now().mono + ms, resolve);
    void work.then(() => {
      cancel();
      resolve();
    });
  });
}

interface BirthAnswer {
  readonly topics: ReadonlySet<string>;
  heard(payload: string): void;
  stop(): void;
}

/** Home Assistant says `online` when it was started: `answer` runs once, a little later. */
function birthAnswer(options: PublisherOptions, answer: () => void): BirthAnswer {
  const { clock, random } = options;
  let cancel: (() => void) | null = null;
  return {
    topics: new Set([`${options.discoveryPrefix ?? 'homeassistant'}/status`, USUAL_BIRTH_TOPIC]),
    heard(payload) {
      if (payload !== 'online') return;
      cancel?.();
      cancel = clock.at(clock.now().mono + BIRTH_WAIT.shortest + random() * BIRTH_WAIT.spread, answer);
    },
    stop: () => cancel?.(),
  };
}

interface LinkEvents {
  /** The connection to use from now on; null: there is none. */
  readonly onSession: (session: Session | null) => void;
  readonly answer: (ack: string) => void;
}

function brokerLink(
  options: PublisherOptions,
  topics: Topics,
  births: BirthAnswer,
  on: LinkEvents,
): Connection {
  const broker = brokerTold(options.onBroker);
  const commands = commandRunner(options, on.answer);
  return connection({
    ...options,
    clientId: `llamastead-${slug(options.instance)}-${randomBytes(4).toString('hex')}`,
    availability: topics.availability,
    filters: [...topics.commandFilters, ...births.topics],
    onUp(session) {
      on.onSession(session);
      broker(true, null);
    },
    onDown(detail) {
      on.onSession(null);
      broker(false, detail);
    },
    onMessage(topic, payload, retained) {
      if (!births.topics.has(topic)) commands(topic, payload, retained);
      // A retained birth message is as old as the broker; this connection has told everything already.
      else if (!retained) births.heard(payload.toString());
    },
  });
}

/** Passes changes on, not repeats. */
function brokerTold(tell: PublisherOptions['onBroker']): PublisherOptions['onBroker'] {
  let last: boolean | null = null;
  return (up, detail) => {
    if (up === last) return;
    last = up;
    tell(up, detail);
  };
}
