/** Lines of nvidia-smi, as drivers of several years print them, and whatever else may come. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { SMI_COMMAND, type SmiLine, smiLine } from '../../../app/adapters/docker/nvidia-smi.ts';
import { fc } from '../../support/property.ts';

const MIB = 1024 * 1024;
const PCI = '0000:01:00.0';
const trouble = (text: string): SmiLine => ({ kind: 'trouble', text });
const untold = (why: string, never: boolean): SmiLine => ({ kind: 'untold', pci: PCI, why, never });

describe('a line of nvidia-smi', () => {
  const table: [string, string, SmiLine | null][] = [
    [
      'a card',
      '00000000:01:00.0, 12288, 11005',
      { kind: 'card', pci: PCI, memory: { total: 12288 * MIB, used: 1283 * MIB } },
    ],
    [
      'a card with its units, from a terminal',
      '00000000:01:00.0, 12288 MiB, 12288 MiB\r',
      { kind: 'card', pci: PCI, memory: { total: 12288 * MIB, used: 0 } },
    ],
    [
      'a domain of four digits, as old drivers have it',
      '0000:0A:00.0, 6143, 6129',
      { kind: 'card', pci: '0000:0a:00.0', memory: { total: 6143 * MIB, used: 14 * MIB } },
    ],
    [
      'a domain beyond four digits',
      '00010000:3B:00.0, 10, 10',
      { kind: 'card', pci: '10000:3b:00.0', memory: { total: 10 * MIB, used: 0 } },
    ],
    ['memory that is the host’s', '00000000:01:00.0, [N/A], [N/A]', untold('[N/A]', true)],
    [
      'the same in old words',
      '00000000:01:00.0, [Not Supported], [Not Supported]',
      untold('[Not Supported]', true),
    ],
    ['no memory at all', '00000000:01:00.0, 0, 0', untold('it has no memory of its own', true)],
    [
      'a card cut into instances',
      '00000000:01:00.0, [Insufficient Permissions], [Insufficient Permissions]',
      untold('[Insufficient Permissions]', true),
    ],
    ['a card in trouble', '00000000:01:00.0, 12288, [Unknown Error]', untold('[Unknown Error]', false)],
    ['a lost card', '00000000:01:00.0, [GPU is lost], [GPU is lost]', untold('[GPU is lost]', false)],
    ['no line', '\r', null],
    ['no cards', 'No devices were found', trouble('No devices were found')],
    [
      'the devices taken away',
      'Failed to initialize NVML: Unknown Error',
      trouble('Failed to initialize NVML: Unknown Error'),
    ],
    [
      'a driver that was updated',
      'Failed to initialize NVML: Driver/library version mismatch\r',
      trouble('Failed to initialize NVML: Driver/library version mismatch'),
    ],
    ['another unit', '00000000:01:00.0, 12 GiB, 11 GiB', trouble('00000000:01:00.0, 12 GiB, 11 GiB')],
    ['more free than there is', '00000000:01:00.0, 10, 11', trouble('00000000:01:00.0, 10, 11')],
    ['a value too few', '00000000:01:00.0, 12288', trouble('00000000:01:00.0, 12288')],
    ['a value too many', '00000000:01:00.0, 1, 1, 1', trouble('00000000:01:00.0, 1, 1, 1')],
    ['a name for an address', 'GeForce RTX 3060, 12288, 12000', trouble('GeForce RTX 3060, 12288, 12000')],
  ];
  for (const [what, line, expected] of table) {
    test(what, () => assert.deepEqual(smiLine(line), expected));
  }

  test('gives back what a card printed', () => {
    const byte = fc.integer({ min: 0, max: 255 }).map((value) => value.toString(16).padStart(2, '0'));
    fc.assert(
      fc.property(
        byte,
        byte,
        fc.integer({ min: 1, max: 999_999 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (bus, slot, total, part) => {
          const free = Math.floor(total * part);
          const line = `00000000:${bus}:${slot}.0, ${total}, ${free}`.toUpperCase();
          const memory = { total: total * MIB, used: (total - free) * MIB };
          assert.deepEqual(smiLine(line), { kind: 'card', pci: `0000:${bus}:${slot}.0`, memory });
        },
      ),
    );
  });

  test('is never taken for memory that no card can have, whatever it says', () => {
    const part = fc.oneof(
      fc.string(),
      fc.constantFrom('00000000:01:00.0', '[N/A]', '-1', '1e3', '0x10', '12288', 'NaN', '1.5', ''),
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 5 }), (parts) => {
        const told = smiLine(parts.join(','));
        if (told?.kind !== 'card') return;
        const { total, used } = told.memory;
        assert.match(told.pci, /^[0-9a-f]{4,8}(:[0-9a-f]{2}){2}\.[0-7]$/);
        assert.ok(Number.isSafeInteger(total) && Number.isSafeInteger(used));
        assert.ok(total > 0 && used >= 0 && used <= total && total % MIB === 0 && used % MIB === 0);
      }),
    );
  });
});

test('it is asked for what a line holds, again and again', () => {
  assert.deepEqual(SMI_COMMAND, [
    'nvidia-smi',
    '--query-gpu=pci.bus_id,memory.total,memory.free',
    '--format=csv,noheader,nounits',
    '--loop-ms=2000',
  ]);
});
