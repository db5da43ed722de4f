import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mountsAt } from '../../app/serve/mounts.ts';

const MOUNTINFO = `27 1 254:0 / / rw shared:1 - ext4 /dev/vda rw
40 27 8:1 /models /DATA/LLM/models rw master:10 - ext4 /dev/sda1 rw
41 40 8:2 / /DATA/LLM/models/my\\040nas rw - btrfs /dev/sdb rw
42 27 8:3 / /DATA/LLM/models-old rw - ext4 /dev/sdc rw
`;

test('mounts on a folder and below it are told, with their device', () => {
  const [on, below] = ['/DATA/LLM/models 8:1', '/DATA/LLM/models/my\\040nas 8:2'];
  assert.deepEqual(mountsAt(MOUNTINFO, '/DATA/LLM/models'), [on, below]);
  assert.deepEqual(mountsAt(MOUNTINFO, '/DATA/LLM/models/'), [on, below]);
  assert.deepEqual(mountsAt(MOUNTINFO, '/DATA/LLM/models/my nas'), [below]);
  assert.equal(mountsAt(MOUNTINFO, '/').length, 4);
  assert.deepEqual(mountsAt('', '/DATA'), []);
});
