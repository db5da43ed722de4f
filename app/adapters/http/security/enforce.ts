/**
 * Turns a check of the guard into an answer.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RequestHandler } from 'express';
import { sendError } from '../errors.ts';
import { requestIdOf } from '../request-id.ts';
import type { Check, Denial } from './guard.ts';

/** Ends the answer with a denial; a missing or wrong token is asked for as HTTP has it. */
export function deny(req: IncomingMessage, res: ServerResponse, denial: Denial): void {
  if (denial.code === 'unauthorized') res.setHeader('www-authenticate', 'Bearer realm="llamastead"');
  sendError(res, denial.code, denial.message, requestIdOf(req), denial.retryAfter);
}

/** The check as a middleware. */
export function enforce(check: Check): RequestHandler {
  return (req, res, next) => {
    const denial = check(req);
    if (denial === null) next();
    else deny(req, res, denial);
  };
}
