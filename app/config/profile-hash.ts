/** The hash by which a running container is known to be made from a profile. */
import { createHash } from 'node:crypto';
import type { Profile } from '../core/types.ts';

/**
 * 16 hex digits over all that a container is made from. Left out, since nothing of a container depends on
 * them: `standby`, and of the GPU its name, its cards, their memory and its headroom. The order of keys does not
 * count.
 */
export function profileHash(profile: Omit<Profile, 'hash'>): string {
  const { standby: _standby, gpu, ...rest } = profile;
  const device =
    gpu === null ? null : { kind: gpu.kind, devices: gpu.devices, env: gpu.env, memory: gpu.memory };
  const json = canonical({ ...rest, gpu: device });
  return createHash('sha256').update(json).digest('hex').slice(0, 16);
}

/** JSON with sorted keys. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)))
      : inner,
  );
}
