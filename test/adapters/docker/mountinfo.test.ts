import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ownContainerIds } from '../../../app/adapters/docker/mountinfo.ts';

const ID = 'a1'.repeat(32);
const OTHER = 'b2'.repeat(32);

/** Docker 20.10, cgroup v1 without a namespace of its own. */
const CGROUP_V1 = `
739 622 0:76 / / rw,relatime master:243 - overlay overlay rw,lowerdir=/var/lib/docker/overlay2/l/X
740 739 0:79 / /proc rw,nosuid,nodev,noexec,relatime - proc proc rw
745 743 0:30 /docker/${ID} /sys/fs/cgroup/memory ro,nosuid,nodev,noexec,relatime master:12 - cgroup cgroup rw,memory
750 739 254:0 /var/lib/docker/containers/${ID}/resolv.conf /etc/resolv.conf rw,relatime - ext4 /dev/vda rw
751 739 254:0 /var/lib/docker/containers/${ID}/hostname /etc/hostname rw,relatime - ext4 /dev/vda rw
752 739 254:0 /var/lib/docker/containers/${ID}/hosts /etc/hosts rw,relatime - ext4 /dev/vda rw`;

/** Docker 28 on a NAS, cgroup v2 with a private namespace, the data root on a partition of its own. */
const CGROUP_V2 = `
1201 900 0:87 / / rw,relatime - overlay overlay rw
1204 1201 0:26 / /sys/fs/cgroup ro,nosuid,nodev,noexec,relatime - cgroup2 cgroup rw
1210 1201 8:17 /docker/containers/${ID}/resolv.conf /etc/resolv.conf rw,relatime - ext4 /dev/sdb1 rw
1211 1201 8:17 /docker/containers/${ID}/hostname /etc/hostname rw,relatime - ext4 /dev/sdb1 rw`;

test('the own id is read from a cgroup v1 mount', () => {
  assert.deepEqual(ownContainerIds(CGROUP_V1), [ID]);
});

test('the own id is read from what Docker mounts over /etc, wherever its data root is', () => {
  assert.deepEqual(ownContainerIds(CGROUP_V2), [ID]);
});

test("a container in another's network knows its own id first, where a cgroup names it", () => {
  const shared = CGROUP_V1.replaceAll(`containers/${ID}`, `containers/${OTHER}`);
  assert.deepEqual(ownContainerIds(shared), [ID, OTHER]);
});

test('an id is read from a systemd scope', () => {
  const line = `31 24 0:27 /system.slice/docker-${ID}.scope /sys/fs/cgroup rw - cgroup2 cgroup2 rw`;
  assert.deepEqual(ownContainerIds(line), [ID]);
});

test('the innermost of nested containers is the own one', () => {
  const line = `31 24 0:27 /docker/${OTHER}/docker/${ID} /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu`;
  assert.deepEqual(ownContainerIds(line), [ID]);
});

test('a process on the host has none, whatever mounts of containers it sees', () => {
  const host = `
24 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 24 0:27 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw
90 24 0:44 / /var/lib/docker/containers/${ID}/mounts/shm rw - tmpfs shm rw
nonsense`;
  assert.deepEqual(ownContainerIds(host), []);
});
