/**
 * The embedded MQTT broker, for homes without one of their own. Everyone has to sign in; clients, packets,
 * sessions and retained topics are bounded.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { EventEmitter } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { Aedes, type AuthenticateError } from 'aedes';
import type { Logger } from 'pino';
import { AppError, systemCode } from '../../errors.ts';
import { clientStream } from './client-stream.ts';

/** Where it listens and who may come in. Port 0: any free one. */
export interface BrokerOptions {
  readonly host: string;
  readonly port: number;
  readonly username: string;
  readonly password: string;
  readonly log: Logger;
}

export interface Broker {
  readonly port: number;
  /** For a client on this machine; without the password. */
  readonly url: string;
  /** Ends every connection and stops listening. */
  close(): Promise<void>;
}

const MAX_CLIENTS = 64;
const MAX_RETAINED = 4096;
/** Bytes of a packet, and of the first one, a CONNECT, which comes from someone not yet known. */
const LIMITS = { opening: 0x10, first: 16 * 1024, packet: 256 * 1024 };
/** Milliseconds until a connection has to say who it is. */
const CONNECT_TIMEOUT = 10_000;
const BAD_PASSWORD = 4;
/** Without 0, O, 1, l, I: it is read off a page and typed. 56 characters: 24 of them are 139 bits. */
const ALPHABET = 'ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz2345678';

/** 24 characters from at least 24 random bytes. Pure: the same bytes give the same password. */
export function makePassword(random: Uint8Array): string {
  if (random.length < 24) throw new AppError('internal', 'a password needs 24 random bytes');
  return Array.from(random.subarray(0, 24), (byte) => ALPHABET[byte % ALPHABET.length]).join('');
}

/** Resolves when it listens. Rejects with AppError `broker_failed` (details: host, port, system code). */
export async function embeddedBroker(options: BrokerOptions): Promise<Broker> {
  const aedes = await makeAedes(options);
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    const stream = clientStream(socket, LIMITS, () => `auto-${randomBytes(8).toString('hex')}`);
    aedes.handle(stream);
  });
  server.maxConnections = MAX_CLIENTS;
  server.on('drop', () =>
    options.log.warn({ limit: MAX_CLIENTS }, 'MQTT: too many clients, one was refused'),
  );
  try {
    await listen(server, options);
  } catch (thrown) {
    await new Promise<void>((done) => aedes.close(done));
    throw listenError(thrown, options);
  }
  server.on('error', (error) => options.log.error({ error: error.message }, 'MQTT: the broker failed'));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `mqtt://${reachable(options.host)}:${port}`,
    close: async () => {
      const closed = new Promise<void>((done) => server.close(() => done()));
      await new Promise<void>((done) => aedes.close(done));
      // Those that never said who they are: the broker does not know them.
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

async function makeAedes(options: BrokerOptions): Promise<Aedes> {
  const retained = new Set<string>();
  const aedes = await Aedes.createBroker({
    connectTimeout: CONNECT_TIMEOUT,
    // A client that is away would let its queue grow: sessions end with their connection.
    preConnect: (_client, packet, done) => {
      packet.clean = true;
      done(null, true);
    },
    authenticate: (_client, username, password, done) => {
      if (same(username ?? '', options.username) && same(password ?? '', options.password)) done(null, true);
      else done(badPassword(), null);
    },
    authorizePublish: (_client, packet, done) => {
      if (packet.topic.startsWith('$')) return done(new Error(`${packet.topic}: reserved`));
      if (packet.retain && packet.payload.length > 0) retained.add(packet.topic);
      if (packet.retain && packet.payload.length === 0) retained.delete(packet.topic);
      done(retained.size > MAX_RETAINED ? new Error('too many retained topics') : null);
    },
    authorizeSubscribe: (_client, subscription, done) =>
      done(null, subscription.topic.startsWith('$') ? null : subscription),
  });
  const failures: EventEmitter = aedes;
  failures.on('error', (error: Error) =>
    options.log.error({ error: error.message }, 'MQTT: the broker failed'),
  );
  aedes.on('connectionError', (_client, error) => options.log.debug({ error }, 'MQTT: a connection failed'));
  aedes.on('clientError', (client, error) =>
    options.log.warn({ client: client?.id, error: error.message }, 'MQTT: a client was refused or failed'),
  );
  return aedes;
}

function listen(server: Server, { host, port }: BrokerOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

function listenError(thrown: unknown, { host, port }: BrokerOptions): AppError {
  const code = systemCode(thrown) ?? 'unknown';
  const why = code === 'EADDRINUSE' ? 'another program uses this port' : AppError.from(thrown).message;
  return new AppError('broker_failed', `the MQTT broker can't listen on ${host}:${port}: ${why}`, {
    cause: thrown,
    details: { host, port, code },
  });
}

function badPassword(): AuthenticateError {
  return Object.assign(new Error('wrong user name or password'), { returnCode: BAD_PASSWORD });
}

/** Compared by their hashes, in constant time. */
function same(given: string | Buffer, expected: string): boolean {
  const hash = (text: string | Buffer) => createHash('sha256').update(text).digest();
  return timingSafeEqual(hash(given), hash(expected));
}

/** Where this machine itself reaches a server that listens on `host`. */
function reachable(host: string): string {
  if (host === '0.0.0.0' || host === '') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}
