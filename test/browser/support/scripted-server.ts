/**
 * The built page on the real HTTP server, with a scripted home and a scripted model API behind it, and a
 * network in front of it that a test can cut.
 */
import { type Access, httpServer } from '../../../app/adapters/http/server.ts';
import { systemClock } from '../../../app/clock.ts';
import type { View } from '../../../app/core/view.ts';
import { type RecordingDrills, recordingDrills } from '../../support/edge-fakes.ts';
import { freePort } from '../../support/ports.ts';
import { type ScriptedChat, scriptedChat } from './scripted-chat.ts';
import { type ScriptedHome, scriptedHome } from './scripted-home.ts';
import { type Wire, wire } from './wire.ts';

export interface ScriptedServer {
  readonly url: string;
  readonly home: ScriptedHome;
  readonly chat: ScriptedChat;
  readonly drills: RecordingDrills;
  readonly wire: Wire;
  /** What the server logged as an error: must stay empty. */
  readonly errors: readonly string[];
  close(): Promise<void>;
}

/** Who may ask; open by default. */
export interface Locks {
  readonly token?: string | null;
  readonly apiKeys?: readonly string[];
  readonly access?: Access;
}

/** An address and a broker, as most homes have them. */
export const ACCESS: Access = {
  url: () => 'http://192.168.1.10:11535/',
  broker: () => ({
    kind: 'embedded',
    host: null,
    port: 11_536,
    tls: false,
    username: 'llamastead',
    up: true,
    passwordIn: '/data/state.json',
  }),
  brokerPassword: () => 'made at the first start',
};

export async function scriptedServer(
  webRoot: string,
  first: Partial<View> = {},
  { token = null, apiKeys = [], access = ACCESS }: Locks = {},
): Promise<ScriptedServer> {
  const home = scriptedHome(first);
  const chat = scriptedChat();
  const drills = recordingDrills();
  const errors: string[] = [];
  const port = await freePort();
  const server = httpServer({
    listen: { host: '127.0.0.1', port },
    modelApi: chat.handler,
    gate: home.gate,
    events: home.events,
    settings: home.settings,
    drills,
    security: () => ({ adminToken: token, apiKeys, allowedHosts: [] }),
    access,
    health: () => ({ alive: true, ready: true, reasons: [] }),
    metrics: { contentType: 'text/plain', text: async () => '' },
    webRoot,
    language: () => 'auto',
    clock: systemClock,
    log: { warn: () => {}, error: (_fields, message) => void errors.push(message) },
  });
  await server.listen();
  const line = await wire(port);
  return {
    url: `http://127.0.0.1:${line.port}/`,
    home,
    chat,
    drills,
    wire: line,
    errors,
    async close() {
      await line.close();
      await server.close(0);
    },
  };
}
