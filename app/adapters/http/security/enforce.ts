/**
 * Turns a check of the guard into an answer.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RequestHandler } from 'express';
import { ownError, sendError } from '../errors.ts';
import { sendOwn } from '../forward/answer.ts';
import { requestIdOf } from '../forward/headers.ts';
import { OPENAI, PROTOCOLS } from '../forward/protocols.ts';
import type { Check, Denial } from './guard.ts';

/** Ends the answer with a denial; a missing or wrong token is asked for as HTTP has it. */
export function deny(req: IncomingMessage, res: ServerResponse, denial: Denial): void {
  askForToken(res, denial);
  sendError(res, denial.code, denial.message, requestIdOf(req.headers), denial.retryAfter);
}

/** As `deny`, in the form of the model path that was asked for. */
export function denyModel(req: IncomingMessage, res: ServerResponse, denial: Denial): void {
  const { code, message, retryAfter } = denial;
  const error = ownError(code, message, requestIdOf(req.headers), { retryAfter });
  const path = req.url?.split('?', 1)[0] ?? '';
  askForToken(res, denial);
  sendOwn(res, (PROTOCOLS.get(path) ?? OPENAI).errorBody(error), error);
}

function askForToken(res: ServerResponse, denial: Denial): void {
  if (denial.code === 'unauthorized') res.setHeader('www-authenticate', 'Bearer realm="llamastead"');
}

/** The check as a middleware. */
export function enforce(check: Check): RequestHandler {
  return (req, res, next) => {
    const denial = check(req);
    if (denial === null) next();
    else deny(req, res, denial);
  };
}
