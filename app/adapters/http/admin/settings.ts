/**
 * Settings that a person may change while it runs: all of them with where they come from, a change of
 * several at once, a reset of one.
 */
import type { Router } from 'express';
import { AppError } from '../../../errors.ts';
import type { Settings } from '../../../ports.ts';
import { hint } from './hint.ts';
import { route } from './routes.ts';

/** Adds `/settings` and `/settings/:key`. */
export function settingsRoutes(router: Router, settings: Settings): void {
  route(router, '/settings', {
    get(_req, res) {
      res.json(settings.list());
    },
    async patch(req, res) {
      const entries = entriesOf(req.body);
      requireKnown(settings, Object.keys(entries), 'invalid_request');
      await settings.setAll(entries);
      res.json(settings.list());
    },
  });
  route(router, '/settings/:key', {
    get(req, res) {
      const key = String(req.params['key']);
      requireKnown(settings, [key], 'unknown_setting');
      res.json(settings.list()[key]);
    },
    async delete(req, res) {
      const key = String(req.params['key']);
      requireKnown(settings, [key], 'unknown_setting');
      await settings.reset(key);
      res.json(settings.list()[key]);
    },
  });
}

/** @throws AppError `invalid_request` */
function entriesOf(body: unknown): Readonly<Record<string, unknown>> {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    const example = '{"models.chat.mode": "cpu"}';
    throw new AppError('invalid_request', `The body has to be a JSON object of settings, as ${example}.`);
  }
  const entries = { ...body };
  if (Object.keys(entries).length === 0) throw new AppError('invalid_request', 'The body names no setting.');
  return entries;
}

/** @throws AppError with `code` that names the first key that is no setting, and the nearest one */
function requireKnown(settings: Settings, keys: readonly string[], code: string): void {
  const known = Object.keys(settings.list());
  const unknown = keys.find((key) => !known.includes(key));
  if (unknown === undefined) return;
  const shown = JSON.stringify(unknown.slice(0, 100));
  throw new AppError(code, `There is no setting ${shown}.${hint(unknown, known)}`, {
    details: { key: unknown },
  });
}
