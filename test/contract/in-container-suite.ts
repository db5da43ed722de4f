/**
 * What the Containers port does when the controller runs in a container of the engine that it uses. A
 * container that only sleeps stands for the controller's own; this process points at it by its mountinfo.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { HostConfig } from 'dockerode';
import type { BenchEngine, Home } from '../support/containers/bench.ts';
import { homeOn, planFor } from '../support/containers/bench.ts';
import { type Defer, deferred } from '../support/defer.ts';

interface Controller {
  readonly home: Home;
  readonly id: string;
}

export function inContainerContract(name: string, engine: () => BenchEngine, timeout: number): void {
  /** `more`: mounts and network of the container that stands for the controller. */
  async function controller(
    defer: Defer,
    here: string,
    more: HostConfig,
    Labels: Record<string, string> = {},
  ): Promise<Controller> {
    const folder = await mkdtemp(join(tmpdir(), 'mountinfo-'));
    const mountinfo = join(folder, 'mountinfo');
    const home = homeOn(engine(), { mountinfo, models: { here, onHost: 'auto' } });
    const options = { Image: engine().images.cpu, Entrypoint: ['sleep'], Cmd: ['600'], Labels };
    const container = await home.docker.createContainer({ ...options, HostConfig: { Init: true, ...more } });
    defer(() => rm(folder, { recursive: true }));
    // A network with a member can't be removed.
    defer(async () => {
      await container.remove({ force: true });
      await home.clear();
    });
    await container.start();
    const mount = `1 1 8:1 /docker/containers/${container.id}/hostname /etc/hostname rw - ext4 /dev/sda rw\n`;
    await writeFile(mountinfo, mount);
    await home.containers.open(home.reports.add);
    return { home, id: container.id };
  }

  /** A volume with the model in a folder. */
  async function volumeWithModel(defer: Defer): Promise<string> {
    const { docker } = homeOn(engine());
    const Name = `test-${randomBytes(6).toString('hex')}`;
    await docker.createVolume({ Name });
    defer(() => docker.getVolume(Name).remove());
    const copy = await docker.createContainer({
      Image: engine().images.cpu,
      Entrypoint: ['sh', '-c', 'mkdir -p /to/llm && cp /from/tiny.gguf /to/llm/'],
      HostConfig: { Binds: [`${engine().modelsFolder}:/from:ro`, `${Name}:/to`] },
    });
    await copy.start();
    assert.equal((await copy.wait()).StatusCode, 0);
    await copy.remove();
    return Name;
  }

  describe(`Containers from within a container of ${name}`, { timeout }, () => {
    test("the holder joins the controller's network, and the models come from a folder of its volume", async (t) => {
      const defer = deferred(t);
      const volume = await volumeWithModel(defer);
      const { docker } = homeOn(engine());
      const joined = `${volume}-net`;
      const network = await docker.createNetwork({ Name: joined });
      defer(() => network.remove());
      const { home } = await controller(defer, '/share/llm', {
        Binds: [`${volume}:/share`],
        NetworkMode: joined,
      });
      const started = await home.containers.start(planFor(engine(), 'i1'));
      assert.ok(started.ok, JSON.stringify(started));
      const found = await docker.getContainer(started.container).inspect();
      const holder = found.HostConfig.NetworkMode?.replace('container:', '') ?? '';
      assert.equal((await docker.getContainer(holder).inspect()).HostConfig.NetworkMode, joined);
    });

    test('on the default bridge a network is made and the controller joins it', async (t) => {
      const models = `${engine().modelsFolder}:/models:ro`;
      const { home, id } = await controller(deferred(t), '/models', { Binds: [models] });
      const started = await home.containers.start(planFor(engine(), 'i1'));
      assert.ok(started.ok, JSON.stringify(started));
      const { Networks } = (await home.docker.getContainer(id).inspect()).NetworkSettings;
      assert.ok(Networks[`llamastead-${home.home}-${home.owner.slice(0, 8)}`] !== undefined);
      assert.ok(Networks['bridge'] !== undefined);
    });

    test("what a composed controller makes is in no project, but stands in for it: no stranger's tile in CasaOS", async (t) => {
      const models = { Binds: [`${engine().modelsFolder}:/models:ro`] };
      const labels = { 'com.docker.compose.project': 'app' };
      const { home, id } = await controller(deferred(t), '/models', models, labels);
      const started = await home.containers.start(planFor(engine(), 'i1'));
      assert.ok(started.ok, JSON.stringify(started));
      const { Config, HostConfig } = await home.docker.getContainer(started.container).inspect();
      const holder = HostConfig.NetworkMode?.replace('container:', '') ?? '';
      const { Config: holders } = await home.docker.getContainer(holder).inspect();
      for (const { Labels } of [Config, holders]) {
        assert.equal(Labels['com.docker.compose.replace'], id);
        assert.equal(Labels['com.docker.compose.project'], undefined);
      }
    });

    test('a models folder that is in no mount is a problem', async (t) => {
      const { home } = await controller(deferred(t), '/models', {});
      assert.equal((await home.reports.next('problem_seen')).problem.code, 'models_not_shared');
    });
  });
}
