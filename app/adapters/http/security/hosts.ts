/**
 * Which names a browser may call us by. A page on a foreign name whose DNS answer was turned to our address
 * (DNS rebinding) sends its own name as Host: names that only the local network gives are safe, others
 * have to be listed.
 */
import { isIP } from 'node:net';

/** Suffixes that public DNS never serves to an attacker; `ts.net` belongs to the owner's own tailnet. */
const LOCAL_SUFFIXES = ['.localhost', '.local', '.lan', '.home', '.home.arpa', '.internal', '.ts.net'];

export interface HostName {
  /** Lower case, without port, brackets and trailing dot. */
  readonly name: string;
  /** As written, or null. */
  readonly port: string | null;
}

/** Reads a Host header (`name`, `name:port`, `[v6]:port`); null where it is none. */
export function parseHost(header: string): HostName | null {
  const match = /^(?:\[([0-9a-f:.]+)\]|([^\s:/?#@[\]\\]+))(?::(\d{1,5}))?$/i.exec(header.trim());
  if (match === null) return null;
  const [, v6, plain, port] = match;
  const name = (v6 ?? plain ?? '').toLowerCase().replace(/\.$/, '');
  if (name === '' || (v6 !== undefined && isIP(name) !== 6)) return null;
  return { name, port: port ?? null };
}

/** True for an address, a name without a dot, a local name, or a listed one. `name` as from `parseHost`. */
export function hostAllowed(name: string, listed: readonly string[]): boolean {
  if (isIP(name) !== 0 || !name.includes('.')) return true;
  if (LOCAL_SUFFIXES.some((suffix) => name.endsWith(suffix))) return true;
  return hostListed(name, listed);
}

/** True where the configuration names this host, with or without a port beside it. */
export function hostListed(name: string, listed: readonly string[]): boolean {
  return listed.some((entry) => parseHost(entry)?.name === name);
}
