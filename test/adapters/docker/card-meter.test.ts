/** The life of the container that reads the NVIDIA cards: on an engine of a few lines, by a clock that the test moves. */
import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { describe, test } from 'node:test';
import type { ContainerCreateOptions } from 'dockerode';
import { cardMeter } from '../../../app/adapters/docker/card-meter.ts';
import { noAnswer } from '../../../app/adapters/docker/docker-error.ts';
import { smiAccess } from '../../../app/adapters/docker/gpu-access.ts';
import { LABELS } from '../../../app/adapters/docker/names.ts';
import { AppError } from '../../../app/errors.ts';
import type { ContainersInput } from '../../../app/ports.ts';
import { manualClock } from '../../support/clock.ts';

const MIB = 1024 * 1024;
const OWNER = { home: 'home', owner: 'uuid', engine: 'local' };
const PCI = '0000:01:00.0';
const LINE = '00000000:01:00.0, 12288, 11005\r\n';
const READING = { [PCI]: { total: 12288 * MIB, used: 1283 * MIB } };
const NO_DRIVER = 'could not select device driver "nvidia" with capabilities: [[gpu utility]]';
const REFUSED = (message: string, status = 500) =>
  new AppError('docker_refused', message, { details: { status } });
const AWAY = new AppError('docker_unreachable', 'socket hang up');

const settled = async () => {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
};

/** `leftovers`: ids of readers that are there already. */
function bench({ leftovers = [] as readonly string[] } = {}) {
  const clock = manualClock();
  const made: ContainerCreateOptions[] = [];
  const outputs: PassThrough[] = [];
  const there = new Set(leftovers);
  const told: ContainersInput[] = [];
  const logged: string[] = [];
  const engine = {
    image: 'llama:cuda' as string | null,
    has: true,
    refuses: null as AppError | null,
    listed: [] as (readonly string[])[],
  };
  const log = (_: object, message: string): void => void logged.push(message);
  const meter = cardMeter({
    owner: OWNER,
    clock,
    access: smiAccess(),
    image: () => engine.image,
    report: (input) => void told.push(input),
    log: { debug: log, info: log, warn: log },
    api: {
      async list({ labels }) {
        engine.listed.push(labels);
        return [...there].map((Id) => ({ Id, Names: [], Labels: {}, State: 'running' }));
      },
      hasImage: async () => engine.has,
      async attach() {
        const output = new PassThrough();
        outputs.push(output);
        return output;
      },
    },
    change: {
      async create(options) {
        made.push(options);
        there.add(`c${made.length}`);
        return `c${made.length}`;
      },
      async start() {
        if (engine.refuses !== null) throw engine.refuses;
      },
      async remove(container) {
        there.delete(container);
      },
    },
  });
  const codes = () =>
    told.map((input) => {
      if (input.type === 'problem_seen') return `${input.problem.code} ${input.problem.about}`;
      return input.type === 'problem_gone' ? `gone ${input.code} ${input.about}` : input.type;
    });
  return {
    ...{ clock, engine, meter, made, there, told, logged, codes },
    output: () => outputs.at(-1) ?? assert.fail('nothing was attached'),
    async says(text: string) {
      outputs.at(-1)?.write(text);
      await settled();
    },
    async ends() {
      outputs.at(-1)?.destroy();
      await settled();
    },
    async passes(ms: number) {
      clock.advance(ms);
      await settled();
    },
    async connects() {
      meter.connected();
      await settled();
    },
  };
}

describe('the reader of the NVIDIA cards', () => {
  test('is one small container of ours that asks nvidia-smi, and writes no log', async () => {
    const it = bench();
    await it.connects();
    const [options] = it.made;
    assert.deepEqual(options?.Entrypoint, ['nvidia-smi']);
    assert.equal(options?.Image, 'llama:cuda');
    assert.equal(options?.Labels?.[LABELS.owner], 'uuid');
    assert.equal(options?.Labels?.[LABELS.role], 'probe');
    assert.match(options?.name ?? '', /^llamastead-home-nvidia-smi-[0-9a-f]{6}$/);
    assert.ok(options?.Env?.includes('NVIDIA_DRIVER_CAPABILITIES=utility'));
    const { HostConfig: host } = options ?? {};
    assert.equal(host?.LogConfig?.Type, 'none');
    assert.ok((host?.Memory ?? 0) > 0 && (host?.Memory ?? 0) <= 128 * MIB);
    assert.equal(host?.MemorySwap, host?.Memory);
    assert.equal(host?.NetworkMode, 'none');
    assert.deepEqual(host?.DeviceRequests, [
      { Driver: 'nvidia', Count: -1, Capabilities: [['gpu', 'utility']] },
    ]);
  });

  test('is read as long as it speaks; its last word counts for five seconds', async () => {
    const it = bench();
    await it.connects();
    assert.deepEqual(it.meter.readings.recent(), {});
    await it.says(LINE.slice(0, 20));
    await it.says(LINE.slice(20));
    assert.deepEqual(it.meter.readings.recent(), READING);
    it.clock.advance(5_000);
    assert.deepEqual(it.meter.readings.recent(), READING);
    it.clock.advance(1);
    assert.deepEqual(it.meter.readings.recent(), {});
    assert.deepEqual(it.codes(), []);
  });

  test('a fresh reading is one that comes after the question, of all cards', async () => {
    const it = bench();
    await it.connects();
    assert.deepEqual(await it.meter.readings.fresh(), {}, 'nothing is waited for where nothing was told');
    await it.says(`${LINE}00000000:02:00.0, 100, 40\r\n`);
    const ask = () => {
      const answer: { cards: unknown } = { cards: 'none yet' };
      void it.meter.readings.fresh().then((cards) => {
        answer.cards = cards;
      });
      return answer;
    };
    const both = ask();
    await it.says('00000000:01:00.0, 12288, 12288\r\n');
    assert.equal(both.cards, 'none yet', 'one of two cards');
    await it.says('00000000:02:00.0, 100, 50\r\n');
    assert.deepEqual(both.cards, {
      [PCI]: { total: 12288 * MIB, used: 0 },
      '0000:02:00.0': { total: 100 * MIB, used: 50 * MIB },
    });
    const late = ask();
    await it.says(LINE);
    await it.passes(3_000);
    assert.deepEqual(late.cards, READING, 'a card that is silent for 3 s is not among them');
    const last = ask();
    await it.ends();
    assert.deepEqual(last.cards, {}, 'its end is the end of the wait');
  });

  test('what a crash left behind is removed first, by the labels of this home and engine', async () => {
    const it = bench({ leftovers: ['old1', 'old2'] });
    await it.connects();
    assert.deepEqual([...it.there], ['c1']);
    const wanted = [`${LABELS.owner}=uuid`, `${LABELS.role}=probe`, `${LABELS.engine}=local`];
    assert.deepEqual(it.engine.listed, [wanted]);
  });

  test('is made again when it ends, with growing pauses, and nothing of it stays', async () => {
    const it = bench();
    await it.connects();
    for (const [nth, pause] of [1_000, 2_000, 4_000, 8_000].entries()) {
      await it.says('Failed to initialize NVML: Unknown Error\r\n');
      await it.ends();
      assert.deepEqual([...it.there], []);
      await it.passes(pause - 1);
      assert.equal(it.made.length, nth + 1);
      await it.passes(1);
      assert.equal(it.made.length, nth + 2);
    }
    for (let nth = 0; nth < 12; nth++) {
      await it.ends();
      await it.passes(600_000);
    }
    assert.equal(it.made.length, 17, 'the longest pause is 10 min');
    assert.equal(it.clock.alarms(), 1);
  });

  test('an end in a row of three is told once, and gone when it reads well', async () => {
    const it = bench();
    await it.connects();
    const fails = async (pause: number) => {
      await it.says('Failed to initialize NVML: Unknown Error\r\n');
      await it.ends();
      await it.passes(pause);
    };
    await fails(1_000);
    await fails(2_000);
    assert.deepEqual(it.codes(), []);
    await fails(4_000);
    await fails(8_000);
    assert.deepEqual(it.codes(), ['gpu_memory_unread local']);
    const [told] = it.told;
    const text = told?.type === 'problem_seen' ? told.problem.text : '';
    assert.match(text, /Failed to initialize NVML: Unknown Error\.$/);
    await it.says(LINE);
    assert.equal(it.codes().length, 1, 'one reading may be an accident');
    for (let second = 0; second < 60; second += 2) {
      await it.passes(2_000);
      await it.says(LINE);
    }
    assert.deepEqual(it.codes(), ['gpu_memory_unread local', 'gone gpu_memory_unread local']);
  });

  test('one that read for a minute is made again after a second, however often', async () => {
    const it = bench();
    await it.connects();
    for (let nth = 1; nth < 6; nth++) {
      for (let second = 0; second <= 60; second += 2) {
        await it.says(LINE);
        await it.passes(2_000);
      }
      await it.ends();
      await it.passes(1_000);
      assert.equal(it.made.length, nth + 1);
    }
    assert.deepEqual(it.codes(), []);
  });

  test('one that runs on and says nothing more is replaced', async () => {
    const it = bench();
    await it.connects();
    await it.passes(29_999);
    await it.says(LINE);
    await it.passes(9_999);
    await it.says('00000000:01:00.0, 12288, [Unknown Error]\r\n');
    assert.equal(it.made.length, 1);
    await it.passes(1);
    assert.deepEqual([...it.there], []);
    await it.passes(1_000);
    assert.equal(it.made.length, 2);
    await it.passes(30_000);
    await it.passes(2_000);
    assert.equal(it.made.length, 3, 'its first word may take half a minute');
  });

  test('a Docker without the toolkit is told once, and asked again when it was restarted', async () => {
    const it = bench();
    it.engine.refuses = REFUSED(NO_DRIVER);
    await it.connects();
    assert.deepEqual(it.codes(), ['gpu_memory_unread local']);
    for (let minute = 0; minute < 600; minute++) {
      await it.passes(60_000);
      it.meter.check();
    }
    await settled();
    assert.equal(it.made.length, 1);
    assert.deepEqual([...it.there], []);
    await it.connects();
    assert.equal(it.made.length, 2);
    assert.equal(it.codes().length, 1);
    it.engine.refuses = null;
    await it.connects();
    await it.says(LINE);
    assert.deepEqual(it.codes(), ['gpu_memory_unread local', 'gone gpu_memory_unread local']);
  });

  test('cards that never tell are asked no more, and are no problem', async () => {
    const it = bench();
    await it.connects();
    for (let second = 0; second < 6; second += 2) await it.says('00000000:01:00.0, [N/A], [N/A]\r\n');
    assert.deepEqual([...it.there], []);
    await it.passes(3_600_000);
    it.meter.check();
    await settled();
    assert.equal(it.made.length, 1);
    assert.deepEqual(it.codes(), []);
    assert.ok(it.logged.includes('the NVIDIA cards do not tell of their memory'));
    assert.equal(it.clock.alarms(), 0);
  });

  test('a card that never tells beside one that does is left out', async () => {
    const it = bench();
    await it.connects();
    for (let nth = 0; nth < 5; nth++) await it.says(`${LINE}00000000:02:00.0, [N/A], [N/A]\r\n`);
    assert.deepEqual(it.meter.readings.recent(), READING);
    assert.equal(it.there.size, 1);
  });

  test('waits for its image without a word: that it is missing is told elsewhere', async () => {
    const it = bench();
    it.engine.has = false;
    await it.connects();
    assert.equal(it.made.length, 0);
    it.engine.has = true;
    it.meter.check();
    await settled();
    assert.equal(it.made.length, 1);
    assert.deepEqual(it.codes(), []);
  });

  test('comes and goes with the card, and follows the image', async () => {
    const it = bench();
    it.engine.image = null;
    await it.connects();
    it.meter.check();
    await settled();
    assert.equal(it.made.length, 0);
    for (const image of ['llama:cuda', 'llama:newer', null]) {
      it.engine.image = image;
      it.meter.check();
      await settled();
      it.meter.check();
      await settled();
    }
    assert.deepEqual(
      it.made.map(({ Image }) => Image),
      ['llama:cuda', 'llama:newer'],
    );
    assert.deepEqual([...it.there], []);
    assert.equal(it.clock.alarms(), 0);
  });

  test('an engine that is away is waited for, also where it came back meanwhile', async () => {
    const it = bench();
    it.engine.refuses = AWAY;
    await it.connects();
    await it.passes(3_600_000);
    assert.equal(it.made.length, 1);
    it.meter.connected();
    it.meter.connected();
    await settled();
    it.engine.refuses = null;
    await it.passes(0);
    await it.connects();
    await it.says(LINE);
    assert.deepEqual(it.meter.readings.recent(), READING);
    assert.deepEqual(it.codes(), []);
  });

  test('a start that Docker leaves without an answer is tried again: the card may hang', async () => {
    const it = bench();
    it.engine.refuses = noAnswer(30_000);
    await it.connects();
    assert.equal(it.made.length, 1);
    it.engine.refuses = null;
    await it.passes(1_000);
    await it.says(LINE);
    assert.deepEqual(it.meter.readings.recent(), READING);
  });

  test('is removed at the end, and none is made after', async () => {
    const it = bench();
    await it.connects();
    await it.says(LINE);
    await it.meter.close();
    assert.deepEqual([...it.there], []);
    assert.deepEqual(it.meter.readings.recent(), {});
    assert.equal(it.clock.alarms(), 0);
    await it.connects();
    it.meter.check();
    await it.passes(600_000);
    assert.equal(it.made.length, 1);
    const waits = bench();
    await waits.connects();
    await waits.ends();
    await waits.meter.close();
    assert.equal(waits.clock.alarms(), 0);
    await bench().meter.close();
  });

  test('a line without an end takes no memory', async () => {
    const it = bench();
    await it.connects();
    for (let nth = 0; nth < 100; nth++) await it.says('x'.repeat(10_000));
    await it.says(`\n${LINE}`);
    assert.deepEqual(it.meter.readings.recent(), READING);
  });
});
