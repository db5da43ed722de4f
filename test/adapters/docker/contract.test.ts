import { after, before } from 'node:test';
import { containersContract } from '../../contract/containers-suite.ts';
import type { FakeDocker } from '../../support/fake-docker/fake-docker.ts';
import { fakeDocker } from '../../support/fake-docker/fake-docker.ts';

const IMAGES = { cpu: 'llama:cpu', vulkan: 'llama:vulkan' };
let fake: FakeDocker | undefined;

function running(): FakeDocker {
  if (fake === undefined) throw new Error('the fake engine is not started');
  return fake;
}

before(async () => {
  fake = await fakeDocker({ images: Object.values(IMAGES) });
});
after(() => running().close());

containersContract(
  'the fake engine',
  () => ({
    socket: running().socket,
    images: IMAGES,
    modelsFolder: '/models',
    async crash(id) {
      const container = running().engine.containers.get(id);
      if (container !== undefined) await running().engine.crash(container, 134);
    },
  }),
  300_000,
);
