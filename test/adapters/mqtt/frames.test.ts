import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { generate } from 'mqtt-packet';
import { frameReader } from '../../../app/adapters/mqtt/frames.ts';
import { AppError } from '../../../app/errors.ts';
import { fc } from '../../support/property.ts';

const publish = (bytes: number) =>
  generate({
    cmd: 'publish',
    topic: 'a',
    payload: Buffer.alloc(bytes, 'x'),
    qos: 0,
    dup: false,
    retain: false,
  });
const ping = generate({ cmd: 'pingreq' });
const limits = { opening: 0x30, first: 100_000, packet: 100_000 };

describe('packets in a stream', () => {
  it('come out whole, however the stream is cut', () => {
    const packets = [publish(0), ping, publish(127), publish(128), publish(20_000), ping];
    const stream = Buffer.concat(packets);
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: stream.length - 1 }), { maxLength: 30 }), (cuts) => {
        const read = frameReader(limits);
        const ends = [...new Set(cuts), stream.length].sort((a, b) => a - b);
        const out = ends.flatMap((end, i) => read(stream.subarray(i === 0 ? 0 : ends[i - 1], end)));
        assert.deepEqual(out.map(String), packets.map(String));
      }),
    );
  });

  it('come out of single bytes', () => {
    const read = frameReader(limits);
    const bytes = Buffer.concat([publish(300), ping]);
    assert.equal([...bytes].flatMap((byte) => read(Buffer.of(byte))).length, 2);
  });

  it('are refused over the limit as soon as their length is known, the first by a limit of its own', () => {
    const code = (run: () => unknown) => {
      try {
        run();
      } catch (thrown) {
        return AppError.from(thrown).code;
      }
      return 'taken';
    };
    assert.equal(
      code(() => frameReader(limits)(ping)),
      'mqtt_malformed',
    );
    const header = publish(5_000).subarray(0, 4);
    assert.equal(
      code(() => frameReader({ ...limits, first: 1_000, packet: 10_000 })(header)),
      'mqtt_too_large',
    );
    const read = frameReader({ ...limits, first: 1_000, packet: 10_000 });
    read(publish(10));
    assert.equal(
      code(() => read(publish(5_000))),
      'taken',
    );
    assert.equal(
      code(() => read(publish(20_000))),
      'mqtt_too_large',
    );
    assert.equal(
      code(() => frameReader(limits)(Buffer.of(0x30, 0xff, 0xff, 0xff, 0xff, 0x01))),
      'mqtt_malformed',
    );
  });
});
