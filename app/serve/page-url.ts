/** The page's address as the local network reaches it. */
import { isIP } from 'node:net';
import type { Config } from '../config.ts';

const EVERYWHERE = new Set(['0.0.0.0', '::']);

/**
 * `port`: the one that was bound; `lan`: this machine's address, null where it is not known. Null where no
 * address can be named for sure: a wrong link is worse than none.
 */
export function pageUrl(listen: Config['listen'], port: number, lan: string | null): string | null {
  if (listen.url !== 'auto') return listen.url;
  const host = EVERYWHERE.has(listen.host) ? lan : listen.host;
  if (host === null || isLoopback(host)) return null;
  return `http://${isIP(host) === 6 ? `[${host}]` : host}:${port}/`;
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.');
}
