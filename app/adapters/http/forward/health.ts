/** Asks an instance for a sign of life. */
import { request } from 'node:http';
import type { InstanceAddress } from '../../../ports.ts';

/** We had no socket to ask by, which says nothing of the instance. */
const OUR_LACK = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EADDRNOTAVAIL']);

/**
 * `GET /health` by a connection of its own; any answer is a sign of life. Has no deadline.
 * @param answered called at most once
 * @returns gives the question up; once is enough, more does nothing
 */
export function askHealth({ host, port }: InstanceAddress, answered: () => void): () => void {
  const asked = request({ host, port, path: '/health', agent: false }, () => {
    answered();
    asked.destroy();
  });
  asked.on('error', ({ code }: NodeJS.ErrnoException) => {
    if (code !== undefined && OUR_LACK.has(code)) answered();
  });
  asked.end();
  return () => void asked.destroy();
}
