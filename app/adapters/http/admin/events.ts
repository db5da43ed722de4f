/**
 * Events as a page of JSON, or as a stream.
 */
import type { Request, Router } from 'express';
import { z } from 'zod';
import type { EventLog } from '../../../ports.ts';
import { sendError } from '../errors.ts';
import { requestIdOf } from '../forward/headers.ts';
import type { Hub } from './hub.ts';
import { route } from './routes.ts';
import { read, wholeNumber } from './validate.ts';

const PAGE = 1_000;

const EventsQuery = z.strictObject({
  since: wholeNumber().optional(),
  limit: wholeNumber('a whole number from 1 to 1000')
    .refine((limit) => limit >= 1 && limit <= PAGE, { error: 'a whole number from 1 to 1000' })
    .optional(),
});
const StreamQuery = z.strictObject({ since: wholeNumber().optional() });

/** Adds `/events` and `/events/stream`. */
export function eventRoutes(router: Router, events: EventLog, hub: Hub): void {
  route(router, '/events', {
    get(req, res) {
      const { since = 0, limit = PAGE } = read(EventsQuery, req.query, 'query');
      const page = events.since(since, limit);
      res.json({ events: page.events, next: page.next, ...(page.gap ? { gap: true } : {}) });
    },
  });
  route(router, '/events/stream', {
    get(req, res) {
      const from = startOf(req, events.seq);
      if (req.method === 'HEAD') {
        res.type('text/event-stream').end();
        return;
      }
      if (hub.open(req, res, from)) return;
      const message = 'Too many event streams are open; close a page of Llamastead.';
      sendError(res, 'capacity', message, requestIdOf(req.headers), 15);
    },
  });
}

/**
 * Where a stream begins: after the number that the browser's EventSource saw last, else after `?since=`,
 * else with what comes next. An EventSource that reconnects sends both, its header being the newer.
 */
function startOf(req: Request, newest: number): number {
  const { since } = read(StreamQuery, req.query, 'query');
  const last = req.headers['last-event-id'];
  if (typeof last === 'string' && /^\d{1,15}$/.test(last)) return Number(last);
  return since ?? newest;
}
