import { constants, statSync } from 'node:fs';

const ROOT = 0;
const MAY_USE = constants.S_IRGRP | constants.S_IWGRP;

/** Number of the group whose members may use the socket; null: none but root's, or it cannot be seen. */
export function socketGroup(socket: string): number | null {
  try {
    const { gid, mode } = statSync(socket);
    return gid !== ROOT && (mode & MAY_USE) === MAY_USE ? gid : null;
  } catch {
    return null;
  }
}
