/** What is not there yet, or goes and comes back as another one, is watched all the same. */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { watchPath } from '../../app/serve/watch.ts';
import { manualClock } from '../support/clock.ts';
import { deferred } from '../support/defer.ts';
import { mountDisk } from '../support/disk.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { until } from '../support/until.ts';

function watched(t: TestContext, path: string, kind: 'file' | 'folder') {
  const clock = manualClock();
  let calls = 0;
  t.after(watchPath(path, kind, clock, () => (calls += 1)));
  return {
    /** Lets time pass until a change was told. */
    async told() {
      const before = calls;
      await until(() => {
        clock.advance(1_000);
        return calls > before;
      });
      // What belongs to the same change is told with it.
      clock.advance(1_000);
    },
  };
}

test('a folder that comes later is seen, and what comes into it', async (t) => {
  const folder = join(await temporaryFolder(t), 'models');
  const { told } = watched(t, folder, 'folder');
  await mkdir(folder);
  await told();
  await writeFile(join(folder, 'a.gguf'), '');
  await told();
});

test('a folder that went and came back as another one is watched again', async (t) => {
  const folder = join(await temporaryFolder(t), 'models');
  await mkdir(folder);
  const { told } = watched(t, folder, 'folder');
  await rename(folder, `${folder}-unmounted`);
  await told();
  await mkdir(folder);
  await told();
  await writeFile(join(folder, 'a.gguf'), '');
  await told();
});

test('a configuration file whose folder comes later is seen', async (t) => {
  const folder = join(await temporaryFolder(t), 'config');
  const { told } = watched(t, join(folder, 'llamastead.yaml'), 'file');
  await mkdir(folder);
  await told();
  await writeFile(join(folder, 'llamastead.yaml'), 'log: {level: debug}');
  await told();
  await rm(join(folder, 'llamastead.yaml'));
  await told();
});

test('a disk that is mounted on the folder, and one below it, are seen', async (t) => {
  const defer = deferred(t);
  const folder = await mkdtemp(join(tmpdir(), 'llamastead-test-'));
  defer(() => rm(folder, { recursive: true }));
  const [on, below] = [join(folder, 'models'), join(folder, 'models/nas')];
  await mkdir(on);
  const { told } = watched(t, on, 'folder');
  await mountDisk(defer, on);
  await told();
  await mkdir(below);
  await told();
  await mountDisk(defer, below);
  await told();
});

test('at rest nothing is told', async (t) => {
  const folder = await temporaryFolder(t);
  const clock = manualClock();
  t.after(watchPath(folder, 'folder', clock, () => assert.fail('nothing changed')));
  for (let looks = 0; looks < 3; looks += 1) {
    clock.advance(30_000);
    await until(() => clock.alarms() === 1);
  }
  clock.advance(1_000);
});
