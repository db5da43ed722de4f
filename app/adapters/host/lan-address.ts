/**
 * The address by which the local network reaches this machine.
 */
import { access, readFile } from 'node:fs/promises';
import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os';
import { join } from 'node:path';

/** Files that container engines put into a container. */
const MARKS = ['.dockerenv', 'run/.containerenv'];
const UP = 1;

export interface LanSources {
  /** Another root of the file system (tests). */
  readonly root?: string;
  readonly interfaces?: () => NodeJS.Dict<NetworkInterfaceInfo[]>;
}

/**
 * The IPv4 address of the interface that has the default route. Null without one, and in a container: its own
 * address is none that the network knows, and the machine's is not told to it.
 */
export async function lanAddress({
  root = '/',
  interfaces = networkInterfaces,
}: LanSources = {}): Promise<string | null> {
  const there = (file: string) =>
    access(join(root, file)).then(
      () => true,
      () => false,
    );
  if ((await Promise.all(MARKS.map(there))).includes(true)) return null;
  const routes = await readFile(join(root, 'proc/net/route'), 'utf8').catch(() => '');
  const name = defaultInterface(routes);
  const addresses = name === null ? [] : (interfaces()[name] ?? []);
  return addresses.find(({ family }) => family === 'IPv4')?.address ?? null;
}

/** Of /proc/net/route: the interface of the default route with the smallest metric. */
function defaultInterface(routes: string): string | null {
  const defaults = routes
    .split('\n')
    .slice(1)
    .map((line) => line.split(/\s+/))
    .map(([name = '', destination, , flags = '0', , , metric, mask]) => ({
      name,
      everywhere: destination === '00000000' && mask === '00000000',
      up: (Number.parseInt(flags, 16) & UP) !== 0,
      metric: Number(metric),
    }))
    .filter(({ everywhere, up }) => everywhere && up)
    .sort((a, b) => a.metric - b.metric);
  return defaults[0]?.name ?? null;
}
