/**
 * How other programs at home reach this one. The broker's password opens more than this program (it can speak
 * to Home Assistant), so it is told only where an admin token is set, and then only to who has it.
 */
import type { Router } from 'express';
import type { ConnectView } from '../../../core/view.ts';
import { AppError } from '../../../errors.ts';
import type { Access } from '../options.ts';
import type { Security } from '../security/guard.ts';
import { route } from './routes.ts';

/** Adds `/connect`; stands behind the check for the admin token. */
export function connectRoutes(router: Router, access: Access, security: () => Security): void {
  route(router, '/connect', { get: (_req, res) => void res.json(connectView(access, security())) });
  route(router, '/connect/broker-password', {
    get(_req, res) {
      if (security().adminToken === null) {
        const message =
          "The broker's password is told only where the page is locked. Set security.adminToken in llamastead.yaml first.";
        throw new AppError('token_needed', message);
      }
      const password = access.brokerPassword();
      if (password === null) throw new AppError('not_found', 'Llamastead runs no broker of its own.');
      res.json({ password });
    },
  });
}

function connectView(access: Access, security: Security): ConnectView {
  const broker = access.broker();
  const passwordShown = security.adminToken !== null && access.brokerPassword() !== null;
  return {
    url: access.url(),
    keyed: security.apiKeys.length > 0,
    broker: broker === null ? null : { ...broker, passwordShown },
  };
}
