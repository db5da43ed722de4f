/**
 * Everything but the model API: admin API, metrics, probes, page.
 */
import express, { type Express, type RequestHandler, Router } from 'express';
import { type AdminOptions, adminRouter } from './admin/router.ts';
import { errorAnswer, notFound, route } from './admin/routes.ts';
import type { HttpServerOptions } from './options.ts';
import { enforce } from './security/enforce.ts';
import { noStore, pageHeaders } from './security/headers.ts';
import { pageRouter } from './static.ts';

export type ApplicationOptions = AdminOptions &
  Pick<HttpServerOptions, 'health' | 'metrics' | 'webRoot' | 'language' | 'log'>;

/** The Express application behind every path that is no model's. */
export function application(options: ApplicationOptions): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.use('/admin', adminRouter(options));
  app.use(plainRoutes(options));
  app.use(
    pageRouter({
      webRoot: options.webRoot,
      language: options.language,
      before: [enforce(options.guard.page), pageHeaders],
    }),
  );
  app.use(notFound);
  app.use(
    errorAnswer((error, requestId) => options.log.error({ err: error, requestId }, 'a request failed')),
  );
  return app;
}

/** What programs ask: metrics and probes. */
function plainRoutes(options: ApplicationOptions): Router {
  const router = Router();
  const { guard, health, metrics } = options;
  const probes: RequestHandler[] = [enforce(guard.probe), noStore];
  router.use('/metrics', enforce(guard.metrics), noStore);
  router.use(['/healthz', '/readyz'], probes);
  route(router, '/metrics', {
    async get(_req, res) {
      res.setHeader('content-type', metrics.contentType);
      res.send(await metrics.text());
    },
  });
  route(router, '/healthz', {
    get(_req, res) {
      const { alive } = health();
      res.status(alive ? 200 : 503).json({ alive });
    },
  });
  route(router, '/readyz', {
    get(_req, res) {
      const { ready, reasons } = health();
      res.status(ready ? 200 : 503).json({ ready, reasons });
    },
  });
  return router;
}
