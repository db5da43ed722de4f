/**
 * What a container needs to reach a GPU, by kind. Only `vulkan` and the refusal of a missing `nvidia` runtime
 * have had a real run; the others follow the vendors' documents.
 */
import type { DeviceMapping, DeviceRequest } from 'dockerode';
import type { GpuKind } from '../../core/types.ts';

export interface GpuAccess {
  readonly Devices?: DeviceMapping[];
  readonly DeviceRequests?: DeviceRequest[];
  readonly GroupAdd?: string[];
}

const RENDER_NODES = '/dev/dri';
const AMD_COMPUTE = '/dev/kfd';

/** All NVIDIA cards, for a program that only asks about them. */
export function smiAccess(): GpuAccess {
  return { DeviceRequests: [{ Driver: 'nvidia', Count: -1, Capabilities: [['gpu', 'utility']] }] };
}

export function gpuAccess(kind: GpuKind): GpuAccess {
  switch (kind) {
    case 'nvidia':
      return { DeviceRequests: [{ Driver: 'nvidia', Count: -1, Capabilities: [['gpu']] }] };
    case 'amd':
      return { Devices: [device(AMD_COMPUTE), device(RENDER_NODES)], GroupAdd: ['video', 'render'] };
    case 'intel':
    case 'vulkan':
      return { Devices: [device(RENDER_NODES)] };
  }
}

/**
 * The same container without what this engine's host or the image does not have, where the program can do
 * without it: render nodes of a Vulkan device that is software, a group that the image does not name (its
 * program runs as root). Undefined: nothing can be left out, the error stands. The device that llama-server
 * is told to use decides then whether the GPU is there.
 */
export function withoutMissing(access: GpuAccess, kind: GpuKind, error: string): GpuAccess | undefined {
  const group = /unable to find group (\S+?):/i.exec(error)?.[1];
  if (group !== undefined && access.GroupAdd?.includes(group)) {
    return { ...access, GroupAdd: access.GroupAdd.filter((name) => name !== group) };
  }
  const noNodes = error.includes(`"${RENDER_NODES}"`) && /no such file/i.test(error);
  if (kind === 'vulkan' && noNodes && access.Devices !== undefined && access.Devices.length > 0) {
    return { ...access, Devices: access.Devices.filter(({ PathOnHost }) => PathOnHost !== RENDER_NODES) };
  }
  return undefined;
}

function device(path: string): DeviceMapping {
  return { PathOnHost: path, PathInContainer: path, CgroupPermissions: 'rwm' };
}
