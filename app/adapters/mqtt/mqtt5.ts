/**
 * Lets clients speak MQTT 5 with a broker that speaks 3.1.1: Home Assistant does so by default and warns of
 * brokers that can't. Packets are translated one by one; what 3.1.1 has no word for is answered as the
 * standard allows: sessions end with their connection, and properties of messages are not passed on.
 * Format: https://docs.oasis-open.org/mqtt/mqtt/v5.0/os/mqtt-v5.0-os.html
 */
import { generate, type IConnectPacket, type Packet, parser } from 'mqtt-packet';
import { AppError } from '../../errors.ts';

/** Whole packets in, whole packets out. */
export interface Translator {
  /** From the client to the broker; `close`: end the connection as a failure, so that the last will is sent. */
  fromClient(packet: Buffer): { readonly packets: readonly Buffer[]; readonly close: boolean };
  fromBroker(packet: Buffer): readonly Buffer[];
}

interface Session {
  /** Set where the client left the choice to us. */
  assignedId: string | null;
  wantsSession: boolean;
  /** Largest packet that the client takes. */
  maxPacket: number;
  readonly maxAccepted: number;
  /** Topic filter -> the client's number for it; null where it gave none. */
  readonly filters: Map<string, number | null>;
  /** Filters of each UNSUBSCRIBE under way, by message id. */
  readonly leaving: Map<number, readonly string[]>;
}

type ReasonCode = 0 | 0x84 | 0x85 | 0x86 | 0x87 | 0x88;
/** 3.1.1 return codes of CONNACK, by position, in words of MQTT 5. */
const CONNACK_REASONS: readonly ReasonCode[] = [0, 0x84, 0x85, 0x88, 0x86, 0x87];
const WITH_WILL = 0x04;

/** True where this first packet is a CONNECT of MQTT 5: the level follows the protocol's name. */
export function speaksMqtt5(packet: Buffer): boolean {
  const body = packet.findIndex((byte, i) => i > 0 && byte < 0x80) + 1;
  return (
    packet[0] === 0x10 &&
    packet.subarray(body, body + 6).toString('latin1') === '\0\x04MQTT' &&
    packet[body + 6] === 5
  );
}

/** `clientId` names clients that don't name themselves; `maxAccepted` is told to the client. */
export function mqtt5Translator(options: { clientId: () => string; maxAccepted: number }): Translator {
  const session: Session = {
    assignedId: null,
    wantsSession: false,
    maxPacket: Number.POSITIVE_INFINITY,
    maxAccepted: options.maxAccepted,
    filters: new Map(),
    leaving: new Map(),
  };
  return {
    fromClient(bytes) {
      const packet = parsed(bytes, 5);
      if (packet.cmd === 'disconnect' && packet.reasonCode === WITH_WILL) return { packets: [], close: true };
      const out = toBroker(packet, session, options.clientId);
      return { packets: [generate(out, { protocolVersion: 4 })], close: false };
    },
    fromBroker(bytes) {
      const out = generate(toClient(parsed(bytes, 4), session), { protocolVersion: 5 });
      return out.length > session.maxPacket ? [] : [out];
    },
  };
}

function toBroker(packet: Packet, session: Session, clientId: () => string): Packet {
  switch (packet.cmd) {
    case 'connect':
      return connectOf(packet, session, clientId);
    case 'publish': {
      if (packet.properties?.topicAlias !== undefined) throw malformed('a topic alias was not offered');
      const { properties: _, ...rest } = packet;
      return rest;
    }
    case 'subscribe': {
      const id = packet.properties?.subscriptionIdentifier ?? null;
      for (const { topic } of packet.subscriptions) session.filters.set(topic, id);
      const { properties: _, ...rest } = packet;
      return rest;
    }
    case 'unsubscribe': {
      session.leaving.set(packet.messageId ?? 0, packet.unsubscriptions);
      const { properties: _, ...rest } = packet;
      return rest;
    }
    case 'auth':
      throw malformed('this broker knows no further authentication');
    default:
      return bare(packet);
  }
}

/** 3.1.1's clean session is MQTT 5's session that ends with its connection; we offer no other. */
function connectOf(packet: IConnectPacket, session: Session, clientId: () => string): Packet {
  const { properties, will, ...rest } = packet;
  if (properties?.authenticationMethod !== undefined)
    throw malformed('this broker knows no further authentication');
  session.wantsSession = (properties?.sessionExpiryInterval ?? 0) > 0;
  session.maxPacket = properties?.maximumPacketSize ?? session.maxPacket;
  if (packet.clientId === '') session.assignedId = clientId();
  const lastWill = will === undefined ? {} : { will: willOf(will) };
  return {
    ...rest,
    protocolVersion: 4,
    clean: true,
    clientId: session.assignedId ?? packet.clientId,
    ...lastWill,
  };
}

function willOf(will: NonNullable<IConnectPacket['will']>): NonNullable<IConnectPacket['will']> {
  const { properties: _, ...rest } = will;
  return rest;
}

function toClient(packet: Packet, session: Session): Packet {
  switch (packet.cmd) {
    case 'connack':
      return connackOf(packet.returnCode ?? 0, session);
    case 'publish': {
      const ids = identifiersOf(packet.topic, session.filters);
      return ids.length === 0 ? packet : { ...packet, properties: { subscriptionIdentifier: ids } };
    }
    case 'unsuback': {
      const filters = session.leaving.get(packet.messageId ?? 0) ?? [];
      session.leaving.delete(packet.messageId ?? 0);
      for (const filter of filters) session.filters.delete(filter);
      return { ...packet, granted: filters.map(() => 0) };
    }
    default:
      return packet;
  }
}

function connackOf(returnCode: number, session: Session): Packet {
  const reasonCode = CONNACK_REASONS[returnCode] ?? 0x87;
  if (reasonCode !== 0) return { cmd: 'connack', reasonCode, sessionPresent: false };
  const properties = {
    maximumPacketSize: session.maxAccepted,
    sharedSubscriptionAvailable: false,
    ...(session.wantsSession ? { sessionExpiryInterval: 0 } : {}),
    ...(session.assignedId === null ? {} : { assignedClientIdentifier: session.assignedId }),
  };
  return { cmd: 'connack', reasonCode, sessionPresent: false, properties };
}

/** An acknowledgement without the reasons that 3.1.1 has no place for. */
function bare(packet: Packet): Packet {
  if (packet.cmd === 'pingreq') return { cmd: 'pingreq' };
  if (packet.cmd === 'disconnect') return { cmd: 'disconnect' };
  return { cmd: packet.cmd, messageId: packet.messageId ?? 0 } as Packet;
}

/** The client's numbers of all its filters that match, each once. */
function identifiersOf(topic: string, filters: ReadonlyMap<string, number | null>): number[] {
  const matching = [...filters].filter(([filter, id]) => id !== null && matches(filter, topic));
  return [...new Set(matching.map(([, id]) => id ?? 0))];
}

/** MQTT 5, 4.7.1: `+` is one level, `#` all that follow; neither matches a topic that starts with `$` at first place. */
export function matches(filter: string, topic: string): boolean {
  const wanted = filter.split('/');
  const levels = topic.split('/');
  if (topic.startsWith('$') && (wanted[0] === '+' || wanted[0] === '#')) return false;
  for (const [i, want] of wanted.entries()) {
    if (want === '#') return true;
    if (i >= levels.length || (want !== '+' && want !== levels[i])) return false;
  }
  return wanted.length === levels.length;
}

function parsed(bytes: Buffer, protocolVersion: 4 | 5): Packet {
  const found: Packet[] = [];
  const errors: unknown[] = [];
  const reader = parser({ protocolVersion });
  reader.on('packet', (packet) => found.push(packet));
  reader.on('error', (error) => errors.push(error));
  reader.parse(bytes);
  const [packet] = found;
  if (packet === undefined) throw AppError.from(errors[0] ?? malformed('no packet'), 'mqtt_malformed');
  return packet;
}

function malformed(message: string): AppError {
  return new AppError('mqtt_malformed', message);
}
