import assert from 'node:assert/strict';
import { test } from 'node:test';
import { standbyText } from '../../app/web/logic/standby.ts';
import { en } from '../../app/web/text/en.ts';
import { createFormat } from '../../app/web/text/format.ts';

const GIB = 1024 ** 3;
const none = { bytes: null, readSeconds: null, starts: { cold: null, cached: null }, need: null, room: null };

test('the standby is told with what it costs and saves', () => {
  const say = (standby: Parameters<typeof standbyText>[0]) =>
    standbyText(standby, en.model, createFormat('en', 0)).replaceAll('\u00a0', ' ');
  assert.equal(say({ ...none, kind: 'cold', state: 'off' }), 'Cold: nothing is kept ready');
  assert.equal(
    say({ ...none, kind: 'cached', state: 'kept', bytes: 4 * GIB, starts: { cold: 9, cached: 2 } }),
    'File in the page cache: ready (4.0 GiB) · the last cold start took 9.0 s · from the page cache 2.0 s',
  );
  assert.equal(
    say({ ...none, kind: 'warm', state: 'no_room', need: 6 * GIB, room: 3 * GIB }),
    'Loaded: no room (needs 6.0 GiB, free are 3.0 GiB)',
  );
});
