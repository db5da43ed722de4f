/**
 * Whether a browser asks for one of our own pages or for a stranger's. Browsers send Origin with every
 * POST, PATCH and DELETE, on plain HTTP too; Sec-Fetch-* only where the page is a secure context.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { hostListed, parseHost } from './hosts.ts';

export type OriginVerdict = { readonly ok: true } | { readonly ok: false; readonly from: string };

const OK: OriginVerdict = { ok: true };

/** True where a browser asks: programs send neither header. */
export function fromBrowser(headers: IncomingHttpHeaders): boolean {
  return headers.origin !== undefined || headers['sec-fetch-site'] !== undefined;
}

/**
 * Refuses a request that another site's page makes. Allowed are our own origin (its host is the Host that
 * was asked), an origin whose host is listed (a proxy that rewrites Host), and, with `apps`, an origin that
 * no website can have (`app:`, `tauri:`, `chrome-extension:`). A followed link is no request of a page.
 */
export function judgeOrigin(
  headers: IncomingHttpHeaders,
  method: string,
  listed: readonly string[],
  apps: boolean,
): OriginVerdict {
  const origin = headers.origin;
  if (origin !== undefined) return judgeNamed(origin, headers.host, listed, apps);
  const site = headers['sec-fetch-site'];
  if (site === undefined || site === 'same-origin' || site === 'none') return OK;
  return isFollowedLink(headers, method) ? OK : { ok: false, from: `a ${String(site)} page` };
}

function judgeNamed(
  origin: string,
  host: string | undefined,
  listed: readonly string[],
  apps: boolean,
): OriginVerdict {
  const stranger: OriginVerdict = { ok: false, from: origin.slice(0, 200) };
  if (!URL.canParse(origin)) return stranger;
  const url = new URL(origin);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return apps ? OK : stranger;
  const asked = host === undefined ? null : parseHost(host);
  const from = parseHost(url.host);
  if (from === null) return stranger;
  if (asked !== null && from.name === asked.name && samePort(url.protocol, from.port, asked.port)) return OK;
  return hostListed(from.name, listed) ? OK : stranger;
}

/** A missing port is the scheme's own; browsers leave it out in Origin and Host alike. */
function samePort(protocol: string, a: string | null, b: string | null): boolean {
  const usual = protocol === 'https:' ? '443' : '80';
  return (a ?? usual) === (b ?? usual);
}

function isFollowedLink(headers: IncomingHttpHeaders, method: string): boolean {
  return (
    (method === 'GET' || method === 'HEAD') &&
    headers['sec-fetch-mode'] === 'navigate' &&
    headers['sec-fetch-dest'] === 'document'
  );
}
