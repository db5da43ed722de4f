/**
 * Sessions in the fake engine's containers (`docker exec -i`): a program that lives as long as its input.
 */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';

export interface FakeSession {
  readonly id: string;
  readonly container: string;
  readonly command: readonly string[];
  socket: Duplex | null;
}

export interface FakeSessions {
  /** Starts are refused, as of a container that has just ended. */
  refused: boolean;
  make(container: string, command: readonly string[]): FakeSession;
  get(id: string): FakeSession | undefined;
  /** Ids of those that run in a container. */
  inside(container: string): readonly string[];
  /** `POST /exec/ID/start` with the connection taken over; false: it is another request. */
  attach(request: IncomingMessage, socket: Duplex): boolean;
  /** The container's end ends its sessions. */
  endIn(container: string): void;
}

const TAKEN_OVER =
  'HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.raw-stream\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n';

/** The connection stays for the next request. */
const NOT_RUNNING =
  'HTTP/1.1 409 Conflict\r\nContent-Type: application/json\r\nContent-Length: 38\r\n\r\n{"message":"container is not running"}';

export function fakeSessions(): FakeSessions {
  const sessions = new Map<string, FakeSession>();
  const inside = (container: string) =>
    [...sessions.values()].filter((one) => one.container === container && one.socket !== null);
  const all: FakeSessions = {
    refused: false,
    make(container, command) {
      const session = { id: randomBytes(32).toString('hex'), container, command, socket: null };
      sessions.set(session.id, session);
      return session;
    },
    get: (id) => sessions.get(id),
    inside: (container) => inside(container).map(({ id }) => id),
    attach(request, socket) {
      const session = sessions.get(/\/exec\/(\w+)\/start$/.exec(request.url ?? '')?.[1] ?? '');
      if (session === undefined) return false;
      if (all.refused) {
        const gone = () => socket.destroy();
        socket.on('end', gone).on('error', gone).resume();
        socket.write(NOT_RUNNING);
        return true;
      }
      session.socket = socket;
      const ended = (): void => {
        sessions.delete(session.id);
        socket.destroy();
      };
      socket.on('end', ended).on('close', ended).on('error', ended);
      socket.write(TAKEN_OVER);
      socket.resume();
      return true;
    },
    endIn(container) {
      for (const { socket } of inside(container)) socket?.destroy();
    },
  };
  return all;
}
