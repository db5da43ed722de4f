/**
 * Bodies are kept until their requests end, since a request may be sent again. So the large ones together get
 * a bounded room: many clients with pictures in the queue must not push the NAS out of memory.
 */
import type { IncomingMessage } from 'node:http';
import type { Wire } from './wire.ts';

/** Bodies up to this size are not counted: the queue bounds them well enough. */
const SMALL_BYTES = 64 * 1024;
/** So many of the largest bodies have room. */
const LARGEST_AT_ONCE = 8;

export interface BodyRoom {
  /** Null: there is no room now. */
  take(req: IncomingMessage, bodyLimit: number): Place | null;
}

export interface Place {
  /** It is given back when this is closed; the last call counts. */
  until(wire: Pick<Wire, 'on'>): void;
}

const NO_PLACE: Place = { until() {} };

export function bodyRoom(): BodyRoom {
  let taken = 0;
  return {
    take({ headers }, bodyLimit) {
      // Without a length it may be as large as any.
      const bytes = Math.min(Number(headers['content-length'] ?? bodyLimit), bodyLimit);
      if (bytes <= SMALL_BYTES) return NO_PLACE;
      if (taken + bytes > LARGEST_AT_ONCE * bodyLimit) return null;
      taken += bytes;
      let holder: Pick<Wire, 'on'> | null = null;
      return {
        until(wire) {
          holder = wire;
          wire.on('close', () => {
            if (holder !== wire) return;
            holder = null;
            taken -= bytes;
          });
        },
      };
    },
  };
}
