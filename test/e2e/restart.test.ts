/** The controller itself dies or ends, with work under way. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { until } from '../support/until.ts';
import { chat, sendChat } from './support/chat.ts';
import { type Controller, startController } from './support/controller.ts';
import { running } from './support/wait.ts';

interface Usage {
  readonly usage: { readonly completion_tokens: number };
}

let home: Controller;

before(async () => {
  home = await startController('e2e-restart', {
    models: { tiny: { file: 'tiny.gguf', context: 1024, parallel: 2, placements: ['cpu'] } },
  });
});

after(() => home.close());

test('killed in mid-traffic and started again, it adopts its instance and forgets no event', async () => {
  await chat(home);
  const before = await home.instances();
  const broken = sendChat(home, { tokens: 1500, stream: true, id: 'cut' }).then((response) =>
    response.text(),
  );
  broken.catch(() => {});
  await running(home, 'cut');
  await home.kill('SIGKILL');
  await assert.rejects(broken);
  await home.start();
  assert.deepEqual(await home.instances(), before);
  const answer = await chat(home);
  assert.equal(answer.status, 200);
  assert.deepEqual(await home.instances(), before);
  const seqs = home.facts().map((fact) => fact.seq);
  assert.deepEqual(
    seqs,
    seqs.map((_, index) => index + 1),
  );
});

test('a definition that changed replaces the instance', async () => {
  const [old] = await home.instances();
  await home.configure({
    models: { tiny: { file: 'tiny.gguf', context: 2048, parallel: 2, placements: ['cpu'] } },
  });
  await home.event('config_reloaded');
  await home.event('model_unloaded', (fact) => fact.why === 'config');
  const answer = await chat(home);
  assert.equal(answer.status, 200);
  assert.notDeepEqual(await home.instances(), [old]);
});

test('a wrong file changes nothing and is told', async () => {
  const before = (await home.state()).models;
  await home.configure({ models: { tiny: { file: 'tiny.gguf', contxt: 512 } } });
  const told = async () => (await home.state()).problems.find(({ code }) => code === 'config_invalid');
  await until(async () => (await told()) !== undefined);
  assert.match((await told())?.text ?? '', /llamastead\.yaml:\d+.*contxt.*context/);
  assert.equal((await home.state()).models[0]?.context, before[0]?.context);
});

test('a second controller of the same home does not start, and says why', async () => {
  await assert.rejects(
    startController(home.home, {}),
    /another Llamastead named "e2e-restart" runs on the Docker engine "local"/,
  );
  assert.equal((await chat(home)).status, 200);
});

test('told to keep its instances, it leaves them at its end and takes them over at its start', async () => {
  const models = { tiny: { file: 'tiny.gguf', context: 2048, parallel: 2, placements: ['cpu'] } };
  await home.configure({ models, shutdown: { instances: 'keep' } });
  await home.event('config_reloaded');
  await chat(home);
  const before = await home.running();
  assert.equal(before.length, 1);
  assert.equal(await home.kill('SIGTERM'), 0);
  assert.deepEqual(await home.running(), before);
  await home.start();
  const [instance] = (await home.state()).instances;
  assert.equal((await chat(home)).status, 200);
  assert.deepEqual(await home.running(), before);
  assert.ok(before[0] !== undefined && instance !== undefined);
  assert.equal(home.facts().filter(({ type }) => type === 'model_unloaded').length, 1);
  await home.configure({ models });
  await home.event('config_reloaded');
});

test('what it learned of answers it shows, also after a restart', async () => {
  const messages = [{ role: 'user', content: 'How warm is it in the hall of the house today? '.repeat(4) }];
  const short = { model: 'tiny', messages, max_tokens: 100, grammar: 'root ::= "warm"' };
  const { usage } = (await (await home.post('/v1/chat/completions', short)).json()) as Usage;
  await chat(home, { tokens: 40 });
  const learned = async () => {
    const [model] = (await home.state()).models;
    return { speeds: model?.tokensPerSecond, length: model?.answerTokens };
  };
  const before = await learned();
  assert.equal(before.length, usage.completion_tokens);
  const { prompt, generation } = before.speeds?.cpu ?? {};
  assert.ok(prompt && generation, JSON.stringify(before));
  assert.equal(await home.kill('SIGTERM'), 0);
  await home.start();
  assert.deepEqual(await learned(), before);
});

test('asked to end, it lets a running answer finish, then takes its containers away', async () => {
  // Its head comes with its first text.
  const answer = await sendChat(home, { tokens: 800, stream: true, id: 'last' });
  const code = home.kill('SIGTERM');
  assert.equal((await answer.text()).trimEnd().split('\n').at(-1), 'data: [DONE]');
  assert.equal(await code, 0);
  assert.deepEqual(await home.instances(), []);
});
