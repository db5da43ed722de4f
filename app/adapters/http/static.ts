/**
 * The built page: hashed files for ever, index asked anew each time. `/` is also the place where Ollama's
 * clients ask whether a server is there, so only who accepts HTML gets the page.
 */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Request, RequestHandler, Response } from 'express';
import express, { Router } from 'express';
import { systemCode } from '../../errors.ts';

export type PageLanguage = 'en' | 'ko' | 'zh';
const LANGUAGES: readonly PageLanguage[] = ['en', 'ko', 'zh'];

const NOT_BUILT =
  'Llamastead is running, but its page is not built. In a checkout: npm run web. The container image holds ' +
  'it built; if it is missing there, get the image again. The APIs under /v1, /api and /admin work.\n';

export interface PageOptions {
  /** Folder that the page's build wrote: index.html, assets/ with hashed names, icons. */
  readonly webRoot: string;
  readonly language: () => PageLanguage | 'auto';
  /** Checks the name that the browser asks for, and sets the page's headers. */
  readonly before: readonly RequestHandler[];
}

/** Serves `/`, `/index`, `/index.html` and the files beside them; passes on what is not there. */
export function pageRouter(options: PageOptions): Router {
  const router = Router();
  const index: RequestHandler = (req, res) => sendIndex(options, req, res);
  router.get('/', (req, res, next) => {
    res.vary('Accept');
    if (acceptsHtml(req)) next();
    else res.type('text/plain').send('Ollama is running');
  });
  router.get(['/', '/index', '/index.html'], ...options.before, index);
  const assets = { index: false, redirect: false, fallthrough: true, dotfiles: 'ignore' } as const;
  router.use(
    '/assets',
    ...options.before,
    express.static(join(options.webRoot, 'assets'), { ...assets, immutable: true, maxAge: '365d' }),
  );
  router.use(
    ...options.before,
    express.static(options.webRoot, {
      ...assets,
      setHeaders: (res) => res.setHeader('cache-control', 'no-cache'),
    }),
  );
  return router;
}

/** True where HTML is named: `*`/`*` is what curl and Ollama's clients send. */
export function acceptsHtml(req: Request): boolean {
  return (req.headers.accept ?? '').split(',').some((range) => {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    return type === 'text/html' && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });
}

async function sendIndex(options: PageOptions, req: Request, res: Response): Promise<void> {
  const html = await readIndex(options.webRoot);
  if (html === null) {
    res.status(503).type('text/plain').send(NOT_BUILT);
    return;
  }
  const language = pickLanguage(options.language(), req);
  const body = html.replace(/<html lang="[a-z-]*"/i, `<html lang="${language}"`);
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
  res.vary('Accept-Language');
  res.setHeader('cache-control', 'no-cache');
  res.setHeader('content-language', language);
  res.setHeader('etag', etag);
  // `fresh` compares If-None-Match with the ETag just set.
  if (req.fresh) res.status(304).end();
  else res.type('html').send(body);
}

/** Null where the page is not built. */
async function readIndex(webRoot: string): Promise<string | null> {
  try {
    return await readFile(join(webRoot, 'index.html'), 'utf8');
  } catch (error) {
    if (systemCode(error) === 'ENOENT' || systemCode(error) === 'ENOTDIR') return null;
    throw error;
  }
}

/** The configured language, else the browser's first one that the page speaks, else English. */
function pickLanguage(configured: PageLanguage | 'auto', req: Request): PageLanguage {
  if (configured !== 'auto') return configured;
  const best = req.acceptsLanguages([...LANGUAGES]);
  return LANGUAGES.find((language) => language === best) ?? 'en';
}
