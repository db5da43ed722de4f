/**
 * The admin API, mounted at `/admin`.
 */
import { Router } from 'express';
import type { Drills } from '../../../ports/drills.ts';
import type { Clock, EventLog, Gate, Settings } from '../../../ports.ts';
import type { Access } from '../options.ts';
import { enforce } from '../security/enforce.ts';
import type { Guard, Security } from '../security/guard.ts';
import { noStore, pageHeaders } from '../security/headers.ts';
import { connectRoutes } from './connect.ts';
import { drillRoutes } from './drills.ts';
import { eventRoutes } from './events.ts';
import type { Hub } from './hub.ts';
import { loginRoutes } from './login.ts';
import { modelRoutes } from './models.ts';
import { jsonBody, route } from './routes.ts';
import { settingsRoutes } from './settings.ts';

export interface AdminOptions {
  readonly gate: Gate;
  readonly events: EventLog;
  readonly settings: Settings;
  readonly drills: Drills;
  readonly security: () => Security;
  readonly access: Access;
  readonly guard: Guard;
  readonly hub: Hub;
  readonly clock: Clock;
}

/** State, events, login, commands and settings; passes on what is none of them. */
export function adminRouter(options: AdminOptions): Router {
  const router = Router();
  router.use(pageHeaders, noStore);
  // The name and the site are judged before a body is read, the token before anything is done.
  router.use(enforce(options.guard.entrance));
  router.use('/login', jsonBody);
  loginRoutes(router, options.guard, options.security);
  router.use(enforce(options.guard.admin), jsonBody);
  route(router, '/state', { get: (_req, res) => void res.json(options.gate.view()) });
  eventRoutes(router, options.events, options.hub);
  modelRoutes(router, options);
  settingsRoutes(router, options.settings);
  drillRoutes(router, { drills: options.drills, seq: () => options.gate.view().seq });
  connectRoutes(router, options.access, options.security);
  return router;
}
