import assert from 'node:assert/strict';
import { chmod, chown, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { engineProblem } from '../../../app/adapters/docker/engine-problem.ts';
import { socketGroup } from '../../../app/adapters/docker/socket-group.ts';
import { AppError } from '../../../app/errors.ts';
import { temporaryFolder } from '../../support/temporary.ts';

test('a socket without permission names the group that may use it, where there is one', async (t) => {
  const socket = join(await temporaryFolder(t), 'docker.sock');
  await writeFile(socket, '');
  const told = async (group: number, mode: number) => {
    await chown(socket, 0, group);
    await chmod(socket, mode);
    const error = new AppError('docker_unreachable', 'x', { details: { system: 'EACCES' } });
    return engineProblem('local', socket, error, socketGroup(socket));
  };
  const { fix, params } = await told(998, 0o660);
  assert.match(fix, /group_add: \["998"\]/);
  assert.equal(params?.['group'], 998);
  for (const [group, mode] of [
    [998, 0o600],
    [0, 0o660],
  ] as const) {
    assert.doesNotMatch((await told(group, mode)).fix, /group_add/);
  }
  await rm(socket);
  assert.equal(socketGroup(socket), null);
});
