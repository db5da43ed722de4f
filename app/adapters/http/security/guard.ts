/**
 * Who may ask for what. Programs reach the model API by any name and with a key, if keys are set; browsers
 * only by an allowed name and from our own page; the admin API always by an allowed name and, if one is
 * set, with the token.
 */
import type { IncomingMessage } from 'node:http';
import type { Clock } from '../../../ports.ts';
import type { Attempts } from './attempts.ts';
import { createAttempts } from './attempts.ts';
import { hostAllowed, parseHost } from './hosts.ts';
import { fromBrowser, judgeOrigin } from './origin.ts';
import { givenSecret, hasSession, oneOf, sameSecret } from './tokens.ts';

/** Secrets and names that decide who may ask; made from the configuration. */
export interface Security {
  /** Null: the page and the admin API are open. */
  readonly adminToken: string | null;
  /** Empty: the model API is open. */
  readonly apiKeys: readonly string[];
  /** Names allowed beside the built-in ones. */
  readonly allowedHosts: readonly string[];
}

/** Why a request is turned away, in the words of our errors. */
export interface Denial {
  readonly code: 'forbidden_host' | 'forbidden_origin' | 'unauthorized' | 'too_many_attempts';
  readonly message: string;
  /** Seconds, for Retry-After. */
  readonly retryAfter: number | null;
}

/** One check: null lets the request in. */
export type Check = (req: IncomingMessage) => Denial | null;

export interface Guard {
  /** For `/v1` and `/api`: costs nothing where no keys are set and no browser asks. */
  readonly model: Check;
  /** For the page's files: name only. */
  readonly page: Check;
  /** For login: name and origin, no token yet. */
  readonly entrance: Check;
  /** For `/admin`: name, origin, token. */
  readonly admin: Check;
  /** For `/metrics`: by any name for programs; where a token is set it is needed, or a key. */
  readonly metrics: Check;
  /** For `/healthz` and `/readyz`: open, but to no other site's page. */
  readonly probe: Check;
  /** Judges a token that was sent to the login. */
  login(req: IncomingMessage, token: string): Denial | null;
}

/** Makes the checks; `security` is read on each request. `onWrongToken` is told of each one that counted. */
export function createGuard(options: {
  readonly security: () => Security;
  readonly clock: Clock;
  readonly onWrongToken: (address: string) => void;
}): Guard {
  const { security } = options;
  const judge: TokenJudge = { attempts: createAttempts(options.clock), onWrongToken: options.onWrongToken };
  const ifBrowser = (req: IncomingMessage, now: Security, apps: boolean) =>
    fromBrowser(req.headers) ? judgePlace(req, now, apps) : null;
  return {
    model(req) {
      const now = security();
      const place = ifBrowser(req, now, true);
      if (place !== null || now.apiKeys.length === 0) return place;
      return judgeSecret(req, now, isKey, judge);
    },
    page: (req) => judgeName(req, security()),
    entrance: (req) => judgePlace(req, security(), false),
    admin(req) {
      const now = security();
      const place = judgePlace(req, now, false);
      if (place !== null || now.adminToken === null) return place;
      return judgeSecret(req, now, isAdmin, judge);
    },
    metrics(req) {
      const now = security();
      const place = ifBrowser(req, now, false);
      if (place !== null || now.adminToken === null) return place;
      return judgeSecret(req, now, isKey, judge);
    },
    probe: (req) => ifBrowser(req, security(), false),
    login(req, token) {
      const { adminToken } = security();
      if (adminToken === null) return null;
      return judgeToken(addressOf(req), token, sameSecret(token, adminToken), judge);
    },
  };
}

interface TokenJudge {
  readonly attempts: Attempts;
  readonly onWrongToken: (address: string) => void;
}

function judgeName(req: IncomingMessage, now: Security): Denial | null {
  const header = req.headers.host;
  if (header === undefined) return null;
  const host = parseHost(header);
  if (host !== null && hostAllowed(host.name, now.allowedHosts)) return null;
  const name = (host?.name ?? header).slice(0, 253);
  const message =
    `The name ${JSON.stringify(name)} is not one that Llamastead may be called by in a browser. If it is ` +
    `yours, add this line to llamastead.yaml: security: {allowedHosts: [${JSON.stringify(name)}]}`;
  return { code: 'forbidden_host', message, retryAfter: null };
}

function judgePlace(req: IncomingMessage, now: Security, apps: boolean): Denial | null {
  const name = judgeName(req, now);
  if (name !== null) return name;
  const origin = judgeOrigin(req.headers, req.method ?? 'GET', now.allowedHosts, apps);
  if (origin.ok) return null;
  const message =
    `A page of another site (${origin.from}) may not ask this. Open Llamastead's own page; behind a proxy ` +
    'that changes the Host header, list the name that browsers use in security.allowedHosts.';
  return { code: 'forbidden_origin', message, retryAfter: null };
}

function isAdmin(secret: string, now: Security): boolean {
  return now.adminToken !== null && sameSecret(secret, now.adminToken);
}

/** The page's chat carries only the admin's cookie, so the admin's right includes the model API. */
function isKey(secret: string, now: Security): boolean {
  return oneOf(secret, now.apiKeys) || isAdmin(secret, now);
}

function judgeSecret(
  req: IncomingMessage,
  now: Security,
  right: (secret: string, now: Security) => boolean,
  judge: TokenJudge,
): Denial | null {
  if (now.adminToken !== null && hasSession(req.headers, now.adminToken)) return null;
  const secret = givenSecret(req.headers);
  if (secret !== null) return judgeToken(addressOf(req), secret, right(secret, now), judge);
  const message = 'A token is needed: send it as "Authorization: Bearer TOKEN".';
  return { code: 'unauthorized', message, retryAfter: null };
}

function judgeToken(address: string, token: string, right: boolean, judge: TokenJudge): Denial | null {
  const seconds = judge.attempts.wait(address);
  if (seconds > 0) {
    const message = `Too many wrong tokens came from ${address}. Try again in ${seconds} s.`;
    return { code: 'too_many_attempts', message, retryAfter: seconds };
  }
  if (right) return null;
  if (judge.attempts.wrong(address, token)) judge.onWrongToken(address);
  return { code: 'unauthorized', message: 'The token is wrong.', retryAfter: null };
}

function addressOf(req: IncomingMessage): string {
  return req.socket.remoteAddress ?? 'unknown';
}
