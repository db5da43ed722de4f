/**
 * What stands between a client's socket and the broker: packets are bounded before they are buffered, and
 * MQTT 5 is translated.
 */
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { AppError } from '../../errors.ts';
import { type FrameLimits, frameReader } from './frames.ts';
import { mqtt5Translator, speaksMqtt5, type Translator } from './mqtt5.ts';

/** Packets pass as they are. */
const PLAIN: Translator = {
  fromClient: (packet) => ({ packets: [packet], close: false }),
  fromBroker: (packet) => [packet],
};

/** What the broker itself sends is not bounded; it begins with a CONNACK. */
const OUR_OWN = { opening: 0x20, first: Number.POSITIVE_INFINITY, packet: Number.POSITIVE_INFINITY };

/**
 * The stream that the broker talks to instead of the socket; each ends with the other. `clientId` names
 * MQTT 5 clients that don't name themselves. Bad packets end the connection.
 */
export function clientStream(socket: Socket, limits: FrameLimits, clientId: () => string): Duplex {
  const fromSocket = frameReader(limits);
  const fromBroker = frameReader(OUR_OWN);
  let translator: Translator | null = null;
  const stream = new Duplex({
    read: () => void socket.resume(),
    write(chunk: Buffer, _encoding, done) {
      const speaker = translator ?? PLAIN;
      const packets = attempt(() => fromBroker(chunk).flatMap((packet) => speaker.fromBroker(packet)));
      if (packets instanceof AppError) done(packets);
      else if (packets.length === 0) done();
      else socket.write(Buffer.concat(packets), done);
    },
    final: (done) => void socket.end(done),
    destroy(error, done) {
      socket.destroy();
      done(error);
    },
  });
  const take = (packet: Buffer) => {
    translator ??= speaksMqtt5(packet) ? mqtt5Translator({ clientId, maxAccepted: limits.packet }) : PLAIN;
    const { packets, close } = translator.fromClient(packet);
    for (const out of packets) if (!stream.push(out)) socket.pause();
    if (close) socket.destroy();
  };
  socket.on('data', (chunk) => {
    const failed = attempt(() => fromSocket(chunk).forEach(take));
    if (failed instanceof AppError) stream.destroy(failed);
  });
  socket.on('end', () => stream.push(null));
  socket.on('error', (error) => stream.destroy(error));
  socket.on('close', () => stream.destroy());
  return stream;
}

function attempt<T>(run: () => T): T | AppError {
  try {
    return run();
  } catch (thrown) {
    return AppError.from(thrown, 'mqtt_malformed');
  }
}
