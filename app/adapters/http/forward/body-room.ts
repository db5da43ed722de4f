/**
 * Bodies are kept until their requests end, since a request may be sent again. So the large ones together get
 * a bounded room: many clients with pictures in the queue must not push the NAS out of memory.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';

/** Bodies up to this size are not counted: the queue bounds them well enough. */
const SMALL_BYTES = 64 * 1024;
/** So many of the largest bodies have room. */
const LARGEST_AT_ONCE = 8;

export interface BodyRoom {
  /** False: there is no room now. It is given back when the answer is closed. */
  take(req: IncomingMessage, res: ServerResponse, bodyLimit: number): boolean;
}

export function bodyRoom(): BodyRoom {
  let taken = 0;
  return {
    take({ headers }, res, bodyLimit) {
      // Without a length it may be as large as any.
      const bytes = Math.min(Number(headers['content-length'] ?? bodyLimit), bodyLimit);
      if (bytes <= SMALL_BYTES) return true;
      if (taken + bytes > LARGEST_AT_ONCE * bodyLimit) return false;
      taken += bytes;
      res.once('close', () => {
        taken -= bytes;
      });
      return true;
    },
  };
}
