/**
 * What every Containers port does, whatever engine is below: run on the fake engine and on real ones.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { TestContext } from 'node:test';
import { describe, test } from 'node:test';
import { refuseSecond } from '../../app/adapters/docker/containers.ts';
import { untilFrozen } from '../../app/adapters/docker/freeze.ts';
import { LABELS } from '../../app/adapters/docker/names.ts';
import { systemClock } from '../../app/clock.ts';
import { AppError } from '../../app/errors.ts';
import type { StartResult } from '../../app/ports.ts';
import type { BenchEngine, Home } from '../support/containers/bench.ts';
import { homeOn, planFor, SOFTWARE_GPU } from '../support/containers/bench.ts';
import { deferred } from '../support/defer.ts';

const MIB = 1024 * 1024;
const AT_ONCE = 4;

export function containersContract(name: string, engine: () => BenchEngine, timeout: number): void {
  const home = async (t: TestContext, defer = deferred(t)): Promise<Home> => {
    const made = homeOn(engine());
    defer(() => made.clear());
    await made.containers.open(made.reports.add);
    return made;
  };

  // Each has a home of its own, so they do not meet; most of their time they wait for Docker.
  describe(`Containers on ${name}`, { timeout, concurrency: AT_ONCE }, () => {
    test('a started instance has answered, has an address and shows where it was placed', async (t) => {
      const { containers, docker } = await home(t);
      const started = good(await containers.start(planFor(engine(), 'i1')));
      assert.equal(started.measured.placement, 'cpu');
      assert.ok((started.measured.ram ?? 0) > MIB);
      const address = containers.address('i1');
      assert.ok(address !== undefined && address.port >= 20_000 && address.key.length >= 24);
      const found = await docker.getContainer(started.container).inspect();
      assert.equal(found.Config.Labels[LABELS.model], 'tiny');
      assert.equal(found.Config.Labels[LABELS.config], 'abc123');
      assert.equal(found.HostConfig.Memory, 700 * MIB);
      assert.match(found.Name, /^\/llamastead-test-[0-9a-f]{6}-tiny-cpu-[0-9a-f]{6}$/);
    });

    test('a gentle removal leaves nothing of the instance', async (t) => {
      const { containers, own } = await home(t);
      const { container } = good(await containers.start(planFor(engine(), 'i1')));
      await containers.remove('i1', 'gentle');
      assert.equal(containers.address('i1'), undefined);
      assert.ok(!(await own()).includes(container));
    });

    test('instances share one holder on ports of their own', async (t) => {
      const { containers, own } = await home(t);
      const both = await Promise.all(['i1', 'i2'].map((it) => containers.start(planFor(engine(), it))));
      both.forEach(good);
      const [one, two] = ['i1', 'i2'].map((it) => containers.address(it));
      assert.equal(one?.host, two?.host);
      assert.notEqual(one?.port, two?.port);
      assert.equal((await own()).length, 3);
    });

    test('a crash is reported with its exit code and last words', async (t) => {
      const { containers, reports } = await home(t);
      const { container } = good(await containers.start(planFor(engine(), 'i1')));
      const exited = reports.next('instance_exited');
      await engine().crash(container);
      const { evidence, instance } = await exited;
      assert.equal(instance, 'i1');
      assert.equal(evidence.running, false);
      assert.equal(evidence.killedOutside, false);
      assert.equal(evidence.oomKilled, false);
      assert.ok(evidence.exitCode !== null && evidence.exitCode > 0);
      assert.ok(evidence.log.length > 0 && evidence.log.length <= 40);
      const key = containers.address('i1')?.key ?? '';
      assert.ok(evidence.log.every((line) => !line.includes(key)));
    });

    test('a kill from outside is told as one', async (t) => {
      const { containers, reports, docker } = await home(t);
      const { container } = good(await containers.start(planFor(engine(), 'i1')));
      const exited = reports.next('instance_exited');
      await docker.getContainer(container).kill();
      assert.equal((await exited).evidence.killedOutside, true);
      await containers.remove('i1', 'kill');
    });

    test('a stop from outside is told as one', async (t) => {
      const { containers, reports, docker } = await home(t);
      const { container } = good(await containers.start(planFor(engine(), 'i1')));
      const exited = reports.next('instance_exited');
      await docker.getContainer(container).stop();
      assert.equal((await exited).evidence.killedOutside, true);
    });

    test('a paused instance is reported, and can be removed', async (t) => {
      const { containers, reports, docker, own } = await home(t);
      const { container } = good(await containers.start(planFor(engine(), 'i1')));
      const paused = reports.next('instance_paused');
      await untilFrozen(() => docker.getContainer(container).pause());
      assert.equal((await paused).instance, 'i1');
      await containers.remove('i1', 'kill');
      assert.ok(!(await own()).includes(container));
    });

    test('a memory limit that is too small is named so', async (t) => {
      const { containers } = await home(t);
      const evidence = bad(await containers.start(planFor(engine(), 'i1', { context: 16_384 }, 24 * MIB)));
      assert.equal(evidence.oomKilled, true);
      assert.equal(evidence.exitCode, 137);
      assert.deepEqual(await containers.examine('i1'), evidence);
    });

    test("a missing NVIDIA runtime is Docker's own error", async (t) => {
      const { containers, own } = await home(t);
      const gpu = { ...SOFTWARE_GPU, kind: 'nvidia' as const, devices: ['CUDA0'] };
      const evidence = bad(await containers.start(planFor(engine(), 'i1', { placement: 'gpu', gpu })));
      assert.match(evidence.error ?? '', /could not select device driver/);
      assert.equal(evidence.exitCode, null);
      await containers.remove('i1', 'kill');
      assert.equal((await own()).length, 1);
    });

    test('a device that the image does not have fails the start', async (t) => {
      const { containers } = await home(t);
      const plan = planFor(engine(), 'i1', { placement: 'gpu', gpu: SOFTWARE_GPU });
      const evidence = bad(await containers.start(plan));
      assert.equal(evidence.exitCode, 1);
      assert.ok(evidence.log.some((line) => line.includes('invalid device: Vulkan0')));
    });

    test('a GPU instance without render nodes starts where its device is there', async (t) => {
      const { containers } = await home(t);
      const { vulkan } = engine().images;
      const plan = planFor(engine(), 'i1', { placement: 'gpu', gpu: SOFTWARE_GPU, image: vulkan });
      const { measured } = good(await containers.start(plan));
      assert.equal(measured.placement, 'gpu');
      assert.ok((measured.vram ?? 0) > MIB);
    });

    test('an image that is not there is named', async (t) => {
      const { containers } = await home(t);
      const evidence = bad(await containers.start(planFor(engine(), 'i1', { image: 'nobody/none:1' })));
      assert.match(evidence.error ?? '', /nobody\/none:1 is not on the engine/);
      await containers.remove('i1', 'kill');
    });

    test('a model file that is not there ends the start with the last words', async (t) => {
      const { containers } = await home(t);
      const evidence = bad(await containers.start(planFor(engine(), 'i1', { file: 'missing.gguf' })));
      assert.equal(evidence.exitCode, 1);
      assert.ok(evidence.log.some((line) => line.includes('failed to load model')));
    });

    test('a removal during the start ends both', async (t) => {
      const { containers, own, reports } = await home(t);
      const started = containers.start(planFor(engine(), 'i1'));
      await containers.remove('i1', 'kill');
      assert.equal((await started).ok, false);
      assert.equal((await own()).length, 1);
      assert.ok(!reports.all.some(({ type }) => type === 'instance_exited'));
    });

    test('a restarted controller finds its instance and adopts it', async (t) => {
      const defer = deferred(t);
      const first = await home(t, defer);
      const plan = planFor(engine(), 'i1');
      const { container } = good(await first.containers.start(plan));
      const address = first.containers.address('i1');
      await first.containers.close({ holders: false });
      const second = first.again();
      defer(() => second.containers.close({ holders: false }));
      await second.containers.open(second.reports.add);
      const { containers: observed } = await second.reports.next('containers_observed');
      assert.deepEqual(observed, [
        {
          container,
          engine: 'local',
          model: 'tiny',
          placement: 'cpu',
          hash: 'abc123',
          running: true,
          instance: null,
        },
      ]);
      good(await second.containers.adopt('j1', container, plan.profile, plan.model));
      assert.deepEqual(second.containers.address('j1'), address);
      const exited = second.reports.next('instance_exited');
      await engine().crash(container);
      assert.equal((await exited).instance, 'j1');
      await second.containers.remove('j1', 'kill');
    });

    test('a second controller of a home is refused while the first lives, and taken when it is gone', async (t) => {
      const first = await home(t);
      const second = homeOn(engine(), { home: first.home });
      const engines = { local: { socket: engine().socket } };
      const parts = (name: string) => ({ home: name, engines, clock: systemClock });
      await assert.rejects(refuseSecond(parts(first.home), 0), (error) => {
        assert.ok(error instanceof AppError && error.code === 'already_running');
        assert.match(error.message, new RegExp(`named "${first.home}" runs on the Docker engine "local"`));
        return true;
      });
      await refuseSecond(parts(second.home.slice(0, -1)), 0);
      // One that was started all the same touches nothing.
      t.after(() => second.clear());
      await second.containers.open(second.reports.add);
      const lost = await second.reports.next('engine_unreachable');
      assert.equal(lost.problem.code, 'second_controller');
      const found = second.reports.next('containers_observed', () => true, 'fresh');
      await first.containers.close({ holders: false });
      await refuseSecond(parts(first.home));
      await found;
    });

    test("leftovers of a home whose state was lost are named, left alone, and in nobody's way", async (t) => {
      const lost = await home(t);
      const { container } = good(await lost.containers.start(planFor(engine(), 'i1')));
      await lost.containers.close({ holders: false });
      const next = homeOn(engine(), { home: lost.home });
      t.after(() => next.clear());
      await next.containers.open(next.reports.add);
      const { problem } = await next.reports.next('problem_seen');
      assert.equal(problem.code, 'leftovers_found');
      const { Name } = await next.docker.getContainer(container).inspect();
      assert.ok(problem.text.includes(Name.slice(1)), problem.text);
      assert.match(problem.text, new RegExp(`llamastead-${lost.home}-${lost.owner.slice(0, 8)}`));
      assert.match(problem.fix, /docker rm -f .*&& docker network rm /);
      good(await next.containers.start(planFor(engine(), 'j1')));
      await next.containers.close({ holders: true });
      assert.equal((await next.docker.getContainer(container).inspect()).State.Running, true);
    });

    test('the end of the holder ends its instances, and the next start has another', async (t) => {
      const { containers, reports, own, docker } = await home(t);
      const { container } = good(await containers.start(planFor(engine(), 'i1')));
      const [holder = ''] = (await own()).filter((id) => id !== container);
      const exited = reports.next('instance_exited');
      await docker.getContainer(holder).kill();
      const { evidence } = await exited;
      assert.match(evidence.error ?? '', /network/);
      await containers.remove('i1', 'kill');
      good(await containers.start(planFor(engine(), 'i2')));
      assert.ok(!(await own()).includes(container));
    });

    test("strangers survive everything, another home's containers too", async (t) => {
      const { containers, docker, own } = await home(t);
      const other = { [LABELS.owner]: randomUUID(), [LABELS.role]: 'instance' };
      const strangers = [await stranger(docker, engine(), {}), await stranger(docker, engine(), other)];
      t.after(() => Promise.all(strangers.map((id) => docker.getContainer(id).remove({ force: true }))));
      const notOurs = (error: unknown) => error instanceof AppError && error.code === 'not_ours';
      for (const id of strangers) {
        await assert.rejects(containers.removeContainer('local', id), notOurs);
        const { profile, model } = planFor(engine(), 'j1');
        bad(await containers.adopt(`adopt-${id}`, id, profile, model));
        await assert.rejects(containers.remove(`adopt-${id}`, 'kill'), notOurs);
        await assert.rejects(containers.remove(`adopt-${id}`, 'gentle'), notOurs);
      }
      good(await containers.start(planFor(engine(), 'i1')));
      await containers.remove('i1', 'kill');
      await containers.close({ holders: true });
      assert.deepEqual(await own(), []);
      for (const id of strangers) {
        assert.equal((await docker.getContainer(id).inspect()).State.Running, true);
      }
    });

    test('the memory of others is counted, our own is not', async (t) => {
      const { containers, docker } = await home(t);
      const id = await stranger(docker, engine(), {});
      t.after(() => docker.getContainer(id).remove({ force: true }));
      const bytes = await containers.servicesMemory();
      assert.ok(bytes !== null && bytes > 0);
    });

    test("a drill's kill is told as one from outside, and its pause as a pause", async (t) => {
      const { containers, reports } = await home(t);
      good(await containers.start(planFor(engine(), 'i1')));
      good(await containers.start(planFor(engine(), 'i2')));
      const exited = reports.next('instance_exited');
      await containers.harm('i1', 'kill');
      assert.deepEqual([(await exited).instance, (await exited).evidence.killedOutside], ['i1', true]);
      const paused = reports.next('instance_paused');
      await containers.harm('i2', 'pause');
      assert.equal((await paused).instance, 'i2');
    });

    test('a starved instance has hardly more memory than it uses, and still runs', async (t) => {
      const { containers, docker } = await home(t);
      const { container } = good(await containers.start(planFor(engine(), 'i1')));
      await containers.harm('i1', 'starve');
      const { HostConfig, State } = await docker.getContainer(container).inspect();
      assert.ok((HostConfig.Memory ?? 0) > 0 && (HostConfig.Memory ?? 0) < 600 * MIB, `${HostConfig.Memory}`);
      assert.equal(State.Running, true);
    });

    test('a drill on what is not there, or not running, is refused in words', async (t) => {
      const { containers, reports } = await home(t);
      const notPossible = (error: unknown) => error instanceof AppError && error.code === 'not_possible';
      await assert.rejects(containers.harm('nobody', 'kill'), notPossible);
      const { container } = good(await containers.start(planFor(engine(), 'i1')));
      const exited = reports.next('instance_exited');
      await engine().crash(container);
      await exited;
      await assert.rejects(containers.harm('i1', 'pause'), notPossible);
    });

    test('the containers of others are listed with their start, ours are not', async (t) => {
      const { containers, docker } = await home(t);
      const plain = await stranger(docker, engine(), {});
      const foreign = await stranger(docker, engine(), { [LABELS.owner]: randomUUID() });
      t.after(() =>
        Promise.all([plain, foreign].map((id) => docker.getContainer(id).remove({ force: true }))),
      );
      const { container } = good(await containers.start(planFor(engine(), 'i1')));
      const listed = new Map((await containers.others()).map((other) => [other.container, other]));
      assert.equal(listed.get(plain)?.running, true);
      assert.deepEqual(listed.get(plain)?.gpus, []);
      assert.equal(listed.get(plain)?.ofAnotherHome, false);
      assert.equal(listed.get(foreign)?.ofAnotherHome, true);
      assert.equal(listed.has(container), false);
      await docker.getContainer(plain).kill();
      await docker.getContainer(plain).start();
      const again = (await containers.others()).find((other) => other.container === plain);
      assert.notEqual(again?.startedAt, listed.get(plain)?.startedAt);
    });

    test('a leftover of ours is removed by its id', async (t) => {
      const { containers, docker, owner, own } = await home(t);
      const id = await stranger(docker, engine(), { [LABELS.owner]: owner, [LABELS.role]: 'instance' });
      await containers.removeContainer('local', id);
      assert.ok(!(await own()).includes(id));
      await containers.removeContainer('local', id);
    });
  });
}

async function stranger(
  docker: Home['docker'],
  engine: BenchEngine,
  labels: Record<string, string>,
): Promise<string> {
  const options = { Image: engine.images.cpu, Entrypoint: ['sleep'], Cmd: ['600'], Labels: labels };
  const container = await docker.createContainer({ ...options, HostConfig: { Init: true } });
  await container.start();
  return container.id;
}

function good(result: StartResult): Extract<StartResult, { ok: true }> {
  if (!result.ok) assert.fail(`the start failed: ${JSON.stringify(result.evidence)}`);
  return result;
}

function bad(result: StartResult): Extract<StartResult, { ok: false }>['evidence'] {
  if (result.ok) assert.fail('the start succeeded');
  return result.evidence;
}
