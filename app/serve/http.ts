/** The one address: model API, admin API, page and metrics on one server. */
import { fileURLToPath } from 'node:url';
import { type ModelApi, modelApi } from '../adapters/http/forward/index.ts';
import { createMetrics, type Metrics } from '../adapters/http/metrics.ts';
import { type Access, type HttpServer, httpServer } from '../adapters/http/server.ts';
import type { Config } from '../config.ts';
import { speedOf, UNKNOWN_SPEED } from '../core/speed.ts';
import type { State } from '../core/state.ts';
import type { Log } from '../log.ts';
import type { Drills } from '../ports/drills.ts';
import type { Clock, Containers, EventLog, Gate, Settings } from '../ports.ts';
import type { Health } from './health.ts';

const WEB_ROOT = fileURLToPath(new URL('../web/dist', import.meta.url));
/** Largest request body, bytes: a long chat with a few pictures. */
const BODY_LIMIT = 32 * 2 ** 20;

export interface HttpParts {
  readonly config: () => Config;
  readonly gate: Gate;
  readonly state: State;
  readonly containers: Pick<Containers, 'address'>;
  readonly events: EventLog;
  readonly settings: Settings;
  readonly drills: Drills;
  readonly isDrill: (mark: string) => boolean;
  readonly health: () => Health;
  readonly access: Access;
  readonly clock: Clock;
  readonly log: Log;
}

export interface HttpEdge {
  readonly server: HttpServer;
  readonly models: ModelApi;
  readonly metrics: Metrics;
}

export function httpEdge(parts: HttpParts): HttpEdge {
  const { config, gate, state, containers, events, settings, clock } = parts;
  const log = parts.log.logger;
  const metrics = createMetrics({ gate, events });
  const models = modelApi({
    gate,
    targetOf(instance) {
      const address = containers.address(instance);
      const known = state.instances.get(instance);
      if (address === undefined || known === undefined) return undefined;
      return { ...address, model: known.model, profile: known.profile.hash };
    },
    speedOf(instance) {
      const profile = state.instances.get(instance)?.profile;
      return profile === undefined ? UNKNOWN_SPEED : speedOf(state.speeds, profile);
    },
    settings() {
      const { connect, stall, silence, firstToken, streamKeepalive, resume } = config().failover;
      return {
        bodyLimit: BODY_LIMIT,
        connectMs: connect,
        stallMs: stall,
        silenceMs: silence,
        firstToken,
        keepaliveMs: streamKeepalive,
        keysChecked: config().security.apiKeys.length > 0,
        resume: resume !== 'never',
      };
    },
    catalog: () => gate.view().models,
    isDrill: parts.isDrill,
    clock,
    metrics,
    log,
  });
  const server = httpServer({
    listen: config().listen,
    modelApi: models.handler,
    gate,
    events,
    settings,
    drills: parts.drills,
    security: () => config().security,
    health: parts.health,
    access: parts.access,
    metrics,
    webRoot: WEB_ROOT,
    language: () => config().language,
    clock,
    log,
  });
  return { server, models, metrics };
}
