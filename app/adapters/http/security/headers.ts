/**
 * Headers of the page and the admin API. The model API has no use for them and does not pay for them.
 * No Cross-Origin-Opener-Policy: on plain HTTP browsers ignore it with an error in the console.
 */
import type { RequestHandler } from 'express';

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'self'",
  "require-trusted-types-for 'script'",
].join('; ');

const HEADERS = new Map([
  ['content-security-policy', POLICY],
  ['x-content-type-options', 'nosniff'],
  ['x-frame-options', 'SAMEORIGIN'],
  ['referrer-policy', 'no-referrer'],
  ['cross-origin-resource-policy', 'same-origin'],
]);

/** Sets the headers that keep other sites out of the page. */
export const pageHeaders: RequestHandler = (_req, res, next) => {
  res.setHeaders(HEADERS);
  next();
};

/** Answers that hold the state of the home are kept nowhere. */
export const noStore: RequestHandler = (_req, res, next) => {
  res.setHeader('cache-control', 'no-store');
  next();
};
