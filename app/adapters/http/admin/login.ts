/**
 * The page's way in: the token becomes a cookie, since an EventSource can send no headers.
 */
import type { Router } from 'express';
import { z } from 'zod';
import { deny } from '../security/enforce.ts';
import type { Guard, Security } from '../security/guard.ts';
import { sessionCookie } from '../security/tokens.ts';
import { route } from './routes.ts';
import { read } from './validate.ts';

const LoginBody = z.strictObject({ token: z.string().min(1, { error: 'a token' }) });

/** Adds `/login`; stands where name and origin are judged, before the token is asked for. */
export function loginRoutes(router: Router, guard: Guard, security: () => Security): void {
  route(router, '/login', {
    post(req, res) {
      const { token } = read(LoginBody, req.body, 'body');
      const denial = guard.login(req, token);
      if (denial !== null) return deny(req, res, denial);
      const { adminToken } = security();
      if (adminToken !== null) res.setHeader('set-cookie', sessionCookie(req.headers.host, adminToken));
      res.json({ ok: true, needed: adminToken !== null });
    },
    delete(req, res) {
      res.setHeader('set-cookie', sessionCookie(req.headers.host, null));
      res.json({ ok: true });
    },
  });
}
