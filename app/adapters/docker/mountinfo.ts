/**
 * Finds out in which container this process runs from `/proc/self/mountinfo` (format: proc(5)).
 */

const ID = '[0-9a-f]{64}';
const CGROUP_ROOT = new RegExp(`[/-](${ID})(?:\\.scope)?$`);
const ETC_ROOT = new RegExp(`/containers/(${ID})/(?:hostname|hosts|resolv\\.conf)$`);
const ETC_FILES = new Set(['/etc/hostname', '/etc/hosts', '/etc/resolv.conf']);

/**
 * Container ids that this process may have, the surest first; none outside a container. A cgroup v1 mount
 * names the own id in its root; with cgroup v2 or a private cgroup namespace only the files that Docker
 * mounts over `/etc` do, which are those of another container where the network is shared with it. So the
 * engine has to know the id, and the first that it knows is the own one.
 */
export function ownContainerIds(mountinfo: string): readonly string[] {
  const fromCgroup: string[] = [];
  const fromEtc: string[] = [];
  for (const line of mountinfo.split('\n')) {
    const mount = parseLine(line);
    if (mount === undefined) continue;
    if (mount.type === 'cgroup' || mount.type === 'cgroup2') {
      const id = CGROUP_ROOT.exec(mount.root)?.[1];
      if (id !== undefined) fromCgroup.push(id);
    } else if (ETC_FILES.has(mount.point)) {
      const id = ETC_ROOT.exec(mount.root)?.[1];
      if (id !== undefined) fromEtc.push(id);
    }
  }
  return [...new Set([...fromCgroup, ...fromEtc])];
}

interface Mount {
  readonly root: string;
  readonly point: string;
  readonly type: string;
}

/** `36 35 98:0 /root /point options optional... - type source options`. */
function parseLine(line: string): Mount | undefined {
  const [left, right] = line.split(' - ', 2);
  if (left === undefined || right === undefined) return undefined;
  const [, , , root, point] = left.split(' ');
  const [type] = right.split(' ');
  if (root === undefined || point === undefined || type === undefined) return undefined;
  return { root, point, type };
}
