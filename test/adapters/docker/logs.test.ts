import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { allLines, logLines, redacted } from '../../../app/adapters/docker/log-text.ts';
import { placementReader } from '../../../app/adapters/docker/measured.ts';
import { frame } from '../../support/fake-docker/fake-container.ts';
import { fc } from '../../support/property.ts';

describe("a container's log", () => {
  test('gives the same lines wherever its frames are cut', () => {
    const line = fc.string({ unit: 'grapheme', maxLength: 40 }).map((text) => text.replace(/[\r\n]/g, ' '));
    fc.assert(
      fc.property(fc.array(line, { maxLength: 12 }), fc.array(fc.nat(60)), (lines, cuts) => {
        const whole = Buffer.concat(lines.map(frame));
        const read: string[] = [];
        const feed = logLines((text) => read.push(text));
        let at = 0;
        for (const cut of cuts) {
          feed(whole.subarray(at, at + cut));
          at += cut;
        }
        feed(whole.subarray(at));
        assert.deepEqual(read, lines);
      }),
    );
  });

  test('shows neither the key nor empty lines at its end', () => {
    const shown = redacted(['api_keys: s3cret', '', 'x s3cret y s3cret', '', ' '], 's3cret');
    assert.deepEqual(shown, ['api_keys: ***', '', 'x *** y ***']);
    assert.deepEqual(redacted(['a'], undefined), ['a']);
  });

  test('cuts a line without end', () => {
    const [line = ''] = allLines(frame('x'.repeat(5000)));
    assert.ok(line.length < 1000);
  });
});

describe('the measured placement', () => {
  const measured = (lines: readonly string[]) => {
    const reader = placementReader();
    for (const line of lines) reader.line(line);
    return reader.measured();
  };
  const fixture = (name: string) =>
    readFileSync(new URL(`fixtures/${name}.log`, import.meta.url), 'utf8').split('\n');
  const MIB = 1024 * 1024;

  test('of a CPU run', () => {
    const { placement, ram, vram } = measured(fixture('load-cpu'));
    assert.equal(placement, 'cpu');
    assert.equal(vram, 0);
    assert.equal(ram, Math.round((5.51 + 16 + 7.52) * MIB));
  });

  test('of a GPU run: host buffers count as RAM', () => {
    const { placement, ram, vram } = measured(fixture('load-vulkan'));
    assert.equal(placement, 'gpu');
    assert.equal(vram, Math.round((5.26 + 16 + 6.01) * MIB));
    assert.equal(ram, Math.round((0.25 + 4.02) * MIB));
  });

  test('of a split run', () => {
    const lines = fixture('load-vulkan').map((line) => line.replace('offloaded 5/5', 'offloaded 3/5'));
    assert.equal(measured(lines).placement, 'split');
  });

  test('of a GPU that was asked for and not used', () => {
    const lines = ['load_tensors: offloaded 0/5 layers to GPU', ...fixture('load-cpu')];
    assert.equal(measured(lines).placement, 'cpu');
  });

  test('counts a reserve that is repeated once, and several weight buffers of a device all', () => {
    const lines = [
      'load_tensors:        CUDA0 model buffer size =  4096.00 MiB',
      'load_tensors:        CUDA0 model buffer size =  1024.00 MiB',
      'load_tensors:    CUDA_Host model buffer size =   500.00 MiB',
      'load_tensors:  CPU_REPACK model buffer size =   100.00 MiB',
      'sched_reserve:      CUDA0 compute buffer size =   300.00 MiB',
      'sched_reserve:      CUDA0 compute buffer size =   200.00 MiB',
    ];
    assert.deepEqual(measured(lines), { placement: 'gpu', ram: 600 * MIB, vram: 5320 * MIB });
  });

  test('is unknown while the log has told only of the host', () => {
    const begun = fixture('load-vulkan').slice(0, 20);
    const onDevice = begun.findIndex((line) => /Vulkan0 model buffer/.test(line));
    const host = ['load_tensors: CPU_Mapped model buffer size = 0.25 MiB'];
    assert.ok(onDevice > 0);
    assert.equal(measured(host).placement, null);
    assert.equal(measured([...host, begun[onDevice] ?? '']).placement, 'gpu');
    assert.equal(measured([...host, 'srv  llama_server: model loaded']).placement, 'cpu');
  });

  test('is unknown where the log tells nothing', () => {
    assert.deepEqual(measured(['loading']), { placement: null, ram: null, vram: null });
  });
});
