/** A request that ends every instance it runs on, on real containers: it is told from the others and refused. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ensureBench, ensureFragileLlama } from '../home/bench.ts';
import { chat } from './support/chat.ts';
import { type Controller, startController } from './support/controller.ts';
import { running } from './support/wait.ts';

const DEADLY = 'now <<end the server>>';
/** Time for a test to do something meanwhile. */
const SLOW = '<<slowly>>';
let home: Controller;

before(async () => {
  const fragile = await ensureFragileLlama(await ensureBench());
  home = await startController('e2e-poison', {
    images: { cpu: fragile, vulkan: fragile },
    failover: { returnAfter: '1s' },
    models: {
      tiny: { file: 'tiny.gguf', context: 512, parallel: 2 },
      crowded: { file: 'tiny.gguf', context: 1024, parallel: 2 },
    },
  });
});

after(() => home.close());

function codeOf(raw: string): string {
  return (JSON.parse(raw) as { error: { code: string } }).error.code;
}

test('alone on two instances that died: an error of its own, and no third try', async () => {
  const answer = await chat(home, { prompt: DEADLY, id: 'deadly' });
  assert.equal(answer.status, 422, answer.raw);
  assert.equal(codeOf(answer.raw), 'poison');
  assert.equal(answer.attempts, '2');
  const told = await home.event('failover_failed');
  assert.equal(told.code, 'poison');
  assert.equal(told.requestId, 'deadly');
  const deaths = home.facts().filter((fact) => fact.type === 'backend_crashed');
  assert.deepEqual(
    deaths.map((fact) => fact.placement),
    ['gpu', 'cpu'],
  );
});

test('sent again, it reaches no instance; the page says so; another request is answered', async () => {
  const before = home.facts().filter((fact) => fact.type === 'backend_crashed').length;
  const again = await chat(home, { prompt: DEADLY });
  assert.equal(again.status, 422);
  assert.equal(codeOf(again.raw), 'poison');
  assert.match((await home.state()).problems.find(({ code }) => code === 'poison')?.text ?? '', /tiny/);
  assert.equal((await chat(home, { prompt: 'hello' })).status, 200);
  assert.equal(home.facts().filter((fact) => fact.type === 'backend_crashed').length, before);
});

test('in flight with another one: both run alone, one is answered and one is poison', async () => {
  const loaded = await home.post('/admin/models/crowded/load?wait=1');
  assert.equal(loaded.status, 200, await loaded.text());
  const good = chat(home, { model: 'crowded', id: 'good', prompt: SLOW });
  await running(home, 'good');
  const bad = chat(home, { model: 'crowded', id: 'bad', prompt: `${DEADLY}, both` });
  const answered = await good;
  assert.equal(answered.status, 200, answered.raw);
  assert.equal(answered.attempts, '2');
  const refused = await bad;
  assert.equal(refused.status, 422, refused.raw);
  assert.equal(codeOf(refused.raw), 'poison');
  assert.equal(refused.attempts, '3');
});

test('an instance that somebody kills convicts nobody', async () => {
  for (const placement of ['gpu', 'cpu']) {
    const id = `killed-${placement}`;
    const pending = chat(home, { id, prompt: SLOW });
    await running(home, id);
    const request = (await home.state()).requests.find((one) => one.id === id);
    await home.docker('kill', await home.container('tiny', request?.placement ?? ''));
    assert.equal((await pending).status, 200);
  }
});
