/**
 * The one address: model API, admin API, page, metrics, health on one port. A model request passes one
 * check and nothing else on its way to the forwarder; all the rest is an Express application.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { AppError } from '../../errors.ts';
import { createHub } from './admin/hub.ts';
import { application } from './application.ts';
import { boundedServer } from './bounded-server.ts';
import { sendError } from './errors.ts';
import { requestIdOf } from './forward/headers.ts';
import { type Lifecycle, lifecycle } from './lifecycle.ts';
import type { HttpLog, HttpServerOptions, ModelHandler } from './options.ts';
import { denyModel } from './security/enforce.ts';
import { createGuard, type Guard } from './security/guard.ts';

export type { HttpAddress, Lifecycle as HttpServer } from './lifecycle.ts';
export type { Access, Health, HttpLog, HttpServerOptions, ModelHandler } from './options.ts';

/** Builds the server; nothing listens before `listen`. */
export function httpServer(options: HttpServerOptions): Lifecycle {
  const { gate, events, clock, log } = options;
  const guard = createGuard({
    security: options.security,
    clock,
    onWrongToken: (address) => log.warn({ address }, 'a wrong token was sent'),
  });
  const hub = createHub({ gate, events, clock, mayListen: (req) => guard.admin(req) === null });
  const app = application({ ...options, guard, hub });
  const listener = dispatch(options.modelApi, guard, app, log);
  const server = boundedServer({ listener, bounds: options.bounds ?? {}, clock, log });
  return lifecycle({ server, listen: options.listen, clock, onClosing: hub.close });
}

function dispatch(modelApi: ModelHandler, guard: Guard, app: RequestListener, log: HttpLog): RequestListener {
  return (req, res) => {
    if (!isModelPath(req.url ?? '')) {
      app(req, res);
      return;
    }
    const denial = guard.model(req);
    if (denial !== null) {
      denyModel(req, res, denial);
      return;
    }
    try {
      modelApi(req, res, (error) => (error === undefined ? app(req, res) : failed(req, res, error, log)));
    } catch (error) {
      failed(req, res, error, log);
    }
  };
}

function failed(req: IncomingMessage, res: ServerResponse, thrown: unknown, log: HttpLog): void {
  log.error({ err: AppError.from(thrown) }, 'the model API failed');
  if (res.headersSent) res.destroy();
  else
    sendError(
      res,
      'internal',
      'Llamastead failed to answer this; its log says why.',
      requestIdOf(req.headers),
    );
}

function isModelPath(url: string): boolean {
  return url.startsWith('/v1/') || url.startsWith('/api/');
}
