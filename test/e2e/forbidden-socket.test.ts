/** Docker's socket belongs to another user than the one that Llamastead runs as. */
import assert from 'node:assert/strict';
import { chmod, chown, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { type Bench, ensureBench } from '../home/bench.ts';
import { deferred } from '../support/defer.ts';
import { relay } from '../support/relay.ts';
import { until } from '../support/until.ts';
import { startBoxed } from './support/boxed.ts';

/** `nobody`. */
const USER = 65_534;
/** Docker's own, whose number differs from host to host. */
const GROUP = 4_242;

let bench: Bench;

before(async () => {
  bench = await ensureBench();
});

test('a socket without permission is named with what to do, and used when it is given, without a restart', async (t) => {
  const defer = deferred(t);
  const folder = await mkdtemp(join(tmpdir(), 'llamastead-socket-'));
  defer(() => rm(folder, { recursive: true, force: true }));
  // Only the socket is in the way.
  await chmod(folder, 0o755);
  const socket = join(folder, 'docker.sock');
  const cable = await relay({ path: socket }, { path: bench.socket });
  defer(async () => cable.close());
  await chown(socket, 0, GROUP);
  await chmod(socket, 0o660);
  const home = await startBoxed(bench, defer, 'e2e-forbidden', {
    user: USER,
    mounts: [`${folder}:/engine`, `${bench.modelsDir}:/models:ro`],
    config: { engines: { local: { socket: '/engine/docker.sock' } } },
  });
  const { StartedAt } = await startedAt(home.container);

  // Its page is there before it has asked for the engine.
  await until(async () => (await home.readyz()).text.includes('permission denied'));
  const unready = await home.readyz();
  assert.equal(unready.status, 503);
  assert.match(unready.text, /\/engine\/docker\.sock: permission denied/);
  assert.match(unready.text, new RegExp(`root.*group_add: .*${GROUP}`));
  assert.deepEqual(await home.problems(), ['docker_socket_forbidden']);
  const refused = await home.post('/admin/models/tiny/load?wait=1');
  assert.equal(refused.status, 503, await refused.text());

  await chmod(socket, 0o666);
  await until(async () => (await home.readyz()).status === 200);
  await until(async () => (await home.problems()).length === 0);
  const loaded = await home.post('/admin/models/tiny/load?wait=1');
  assert.equal(loaded.status, 200, await loaded.text());
  assert.deepEqual(await startedAt(home.container), { StartedAt });
});

async function startedAt(container: string): Promise<{ StartedAt: string }> {
  return { StartedAt: await bench.docker.run(['inspect', '--format', '{{.State.StartedAt}}', container]) };
}
