/**
 * MQTT's outer form: whole packets from a stream of bytes, with a bound. Pure.
 * Format: https://docs.oasis-open.org/mqtt/mqtt/v5.0/os/mqtt-v5.0-os.html#_Toc3901019 (fixed header)
 */
import { AppError } from '../../errors.ts';

export interface FrameLimits {
  /** First byte of the first packet: another program at the door is known by it at once. */
  readonly opening: number;
  /** Bytes of the first packet, which comes before anyone is known. */
  readonly first: number;
  /** Bytes of every other packet. */
  readonly packet: number;
}

/**
 * Gives the packets that each chunk completes; a part of one is kept. Throws AppError `mqtt_malformed` or
 * `mqtt_too_large` (details: bytes, limit), the latter as soon as the length is known.
 */
export function frameReader(limits: FrameLimits): (chunk: Buffer) => readonly Buffer[] {
  let first = true;
  let kept: Buffer[] = [];
  let size = 0;
  let wanted = 2;
  return (chunk) => {
    kept.push(chunk);
    size += chunk.length;
    const packets: Buffer[] = [];
    // Joined only when there is enough, so that many small chunks cost no more than one large one.
    while (size >= wanted) {
      const bytes = kept.length === 1 ? (kept[0] ?? Buffer.alloc(0)) : Buffer.concat(kept);
      if (first && bytes[0] !== limits.opening) throw malformed('the first packet is not the one expected');
      const length = packetLength(bytes);
      wanted = length ?? bytes.length + 1;
      const limit = first ? limits.first : limits.packet;
      if (wanted > limit) throw tooLarge(wanted, limit);
      const whole = length !== null && bytes.length >= length;
      if (whole) packets.push(bytes.subarray(0, length));
      const rest = whole ? bytes.subarray(length) : bytes;
      kept = rest.length > 0 ? [rest] : [];
      size = rest.length;
      if (whole) {
        wanted = 2;
        first = false;
      }
    }
    return packets;
  };
}

/** Length of the packet that starts here, header included; null where the header is not complete. */
function packetLength(bytes: Buffer): number | null {
  let rest = 0;
  for (let i = 1; i <= 4; i++) {
    const byte = bytes[i];
    if (byte === undefined) return null;
    rest += (byte & 0x7f) * 128 ** (i - 1);
    if (byte < 0x80) return 1 + i + rest;
  }
  throw malformed('a length has more than four bytes');
}

function malformed(message: string): AppError {
  return new AppError('mqtt_malformed', `not MQTT: ${message}`);
}

function tooLarge(bytes: number, limit: number): AppError {
  return new AppError('mqtt_too_large', `an MQTT packet has ${bytes} bytes, the limit is ${limit}`, {
    details: { bytes, limit },
  });
}
