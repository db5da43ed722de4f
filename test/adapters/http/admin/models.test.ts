import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ask, errorOf, startEdge } from '../../../support/edge.ts';
import { homeView, memorySettings } from '../../../support/edge-fakes.ts';
import { until } from '../../../support/until.ts';

const post = (port: number, path: string, body?: unknown) => ask(port, { method: 'POST', path, body });

test('a command is taken at once with the newest number', async (t) => {
  const { port, gate } = await startEdge(t);
  gate.show({ seq: 41 });
  for (const verb of ['load', 'unload', 'restart'] as const) {
    const answer = await post(port, `/admin/models/chat/${verb}`);
    assert.deepEqual([answer.status, answer.json()], [202, { seq: 41 }]);
  }
  assert.deepEqual(
    gate.commands,
    ['load', 'unload', 'restart'].map((verb) => ({ do: verb, model: 'chat' })),
  );
});

test('an alias stands for its model', async (t) => {
  const { port, gate } = await startEdge(t);
  assert.equal((await post(port, '/admin/models/gpt-4o-mini/load', {})).status, 202);
  assert.deepEqual(gate.commands, [{ do: 'load', model: 'chat' }]);
});

test('with ?wait=1 the answer comes when it is done, and with its number', async (t) => {
  const { port, gate } = await startEdge(t);
  const answer = post(port, '/admin/models/chat/load?wait=1');
  await until(() => gate.commands.length > 0);
  gate.show({ seq: 57 });
  gate.finish({ ok: true });
  assert.deepEqual([(await answer).status, (await answer).json()], [200, { seq: 57 }]);
});

test('with ?wait=1 a failed command is the error that it failed with', async (t) => {
  const { port, gate } = await startEdge(t);
  const answer = post(port, '/admin/models/chat/load?wait=1');
  await until(() => gate.commands.length > 0);
  const message = 'chat needs 6.2 GiB and models may use 4.9 GiB more.';
  gate.finish({ ok: false, code: 'capacity', message });
  assert.equal((await answer).status, 503);
  assert.equal(errorOf(await answer)['message'], message);
});

test('a wait is bounded: after half an hour the answer says that it still goes on', async (t) => {
  const { port, gate, clock } = await startEdge(t);
  const answer = post(port, '/admin/models/chat/load?wait=1');
  await until(() => clock.alarms() > 0);
  clock.advance(30 * 60_000);
  assert.equal((await answer).status, 504);
  assert.equal(errorOf(await answer)['code'], 'deadline');
  assert.equal(gate.commands.length, 1);
});

test('an unknown model, verb, value or key is named with what there is', async (t) => {
  const { port, gate } = await startEdge(t);
  const message = async (path: string, body?: unknown) => {
    const answer = await post(port, path, body);
    return `${answer.status} ${errorOf(answer)['code']}: ${errorOf(answer)['message']}`;
  };
  const models = '/admin/models';
  assert.equal(
    await message(`${models}/chta/load`),
    '404 unknown_model: There is no model "chta". Did you mean "chat"?',
  );
  assert.equal(
    await message(`${models}/whisper/load`),
    '404 unknown_model: There is no model "whisper". There are: chat, gpt-4o-mini.',
  );
  assert.equal(
    await message(`${models}/chat/mode`, { mode: 'fast' }),
    '400 invalid_request: "mode" in the body is "fast", expected one of auto, gpu, cpu, off.',
  );
  assert.equal(
    await message(`${models}/chat/mode`, { moed: 'cpu' }),
    '400 invalid_request: Unknown key "moed" in the body. Did you mean "mode"? ' +
      '"mode" in the body is missing, expected one of auto, gpu, cpu, off.',
  );
  assert.equal(
    await message(`${models}/chat/keep-loaded`, { on: 'yes' }),
    '400 invalid_request: "on" in the body is "yes", expected true or false.',
  );
  assert.equal(
    await message(`${models}/chat/load`, { mode: 'gpu' }),
    '400 invalid_request: Unknown key "mode" in the body. It takes none.',
  );
  assert.equal(
    await message(`${models}/chat/load?wait=yes`),
    '400 invalid_request: "wait" in the query is "yes", expected one of 0, 1, true, false.',
  );
  assert.equal(
    await message(`${models}/chat/mode`),
    '400 invalid_request: The body is missing, expected a JSON object.',
  );
  assert.match(await message(`${models}/chat/fly`), /^404 not_found: .*POST \/admin\/models\/chat\/fly/);
  assert.match(await message(`${models}/%E0%A4%A/load`), /^400 invalid_request/);
  assert.deepEqual(gate.commands, []);
});

test('mode and keep-loaded become settings of the model', async (t) => {
  const { port, settings, gate } = await startEdge(t);
  gate.show({ seq: 12 });
  const mode = await post(port, '/admin/models/chat/mode', { mode: 'cpu' });
  assert.deepEqual([mode.status, mode.json()], [202, { seq: 12 }]);
  const keep = await post(port, '/admin/models/chat/keep-loaded?wait=1', { on: true });
  assert.equal(keep.status, 200);
  assert.deepEqual(settings.list()['models.chat.mode'], { value: 'cpu', source: 'settings' });
  assert.deepEqual(settings.list()['models.chat.keepLoaded'], { value: true, source: 'settings' });
});

test('an empty body is none, whatever its headers say of it', async (t) => {
  const { port, gate } = await startEdge(t);
  const empty: readonly Record<string, string>[] = [
    {},
    { 'content-length': '0' },
    { 'content-length': '0', 'content-type': 'application/json' },
    { 'content-length': '0', 'content-type': 'application/octet-stream' },
    { 'content-length': '0', 'content-type': 'application/x-www-form-urlencoded' },
    { 'transfer-encoding': 'chunked' },
  ];
  for (const headers of empty) {
    const answer = await ask(port, { method: 'POST', path: '/admin/models/chat/load', headers });
    assert.equal(answer.status, 202, JSON.stringify(headers));
  }
  assert.equal(gate.commands.length, empty.length);
});

test('a body without Content-Type is not read: a page of another site could send it unasked', async (t) => {
  const { port, gate, settings } = await startEdge(t);
  const expected = 'The body has no Content-Type header, expected Content-Type: application/json.';
  for (const [path, body] of [
    ['chat/mode', '{"mode": "cpu"}'],
    ['chat/load', '{}'],
  ] as const) {
    for (const headers of [{}, { 'transfer-encoding': 'chunked' }]) {
      const length = 'transfer-encoding' in headers ? {} : { 'content-length': body.length };
      const sent = {
        method: 'POST',
        path: `/admin/models/${path}`,
        body,
        headers: { ...headers, ...length },
      };
      const answer = await ask(port, sent);
      assert.deepEqual([answer.status, errorOf(answer)['message']], [400, expected]);
    }
  }
  assert.deepEqual(gate.commands, []);
  assert.equal(settings.list()['models.chat.mode']?.source, 'default');
});

test('a body that is no JSON, too large or in another form is told so', async (t) => {
  const { port } = await startEdge(t);
  const path = '/admin/models/chat/mode';
  const send = (body: string, type: string) =>
    ask(port, { method: 'POST', path, body, headers: { 'content-type': type } });
  const broken = await send('{"mode": ', 'application/json');
  assert.match(errorOf(broken)['message'] ?? '', /^The body is not valid JSON: /);
  const large = await send(`{"mode": "${'x'.repeat(70_000)}"}`, 'application/json');
  assert.deepEqual([large.status, errorOf(large)['code']], [413, 'body_too_large']);
  const form = await send('mode=cpu', 'application/x-www-form-urlencoded');
  assert.match(
    errorOf(form)['message'] ?? '',
    /"application\/x-www-form-urlencoded", expected application\/json/,
  );
});

test('a method that a path does not take gets 405 and the ones that it takes', async (t) => {
  const { port } = await startEdge(t);
  const answer = await ask(port, { path: '/admin/models/chat/load' });
  assert.deepEqual([answer.status, answer.headers.allow], [405, 'POST']);
  assert.equal((await ask(port, { method: 'DELETE', path: '/admin/settings' })).headers.allow, 'GET, PATCH');
});

test('the request id of the client comes back, a strange one is replaced', async (t) => {
  const { port } = await startEdge(t);
  const id = async (given: string) =>
    (await ask(port, { path: '/admin/nothing', headers: { 'x-request-id': given } })).headers['x-request-id'];
  assert.equal(await id('abc-123'), 'abc-123');
  assert.match(String(await id('x'.repeat(129))), /^[\x21-\x7e]{8,64}$/);
});

test('settings show value and source; a change of several is all or nothing; a reset brings the old one', async (t) => {
  const { port, settings } = await startEdge(t);
  const patch = (body: unknown) => ask(port, { method: 'PATCH', path: '/admin/settings', body });
  const changed = await patch({ 'models.chat.mode': 'gpu', 'models.chat.keepLoaded': true });
  assert.equal(changed.status, 200);
  assert.deepEqual(changed.json(), settings.list());
  const refused = await patch({
    'models.chat.mode': 'off',
    'memory.budget': '4GiB',
    'models.chat.keepLoaded': 3,
  });
  assert.deepEqual([refused.status, errorOf(refused)['code']], [400, 'invalid_setting']);
  assert.deepEqual(settings.list()['models.chat.mode'], { value: 'gpu', source: 'settings' });
  assert.deepEqual(settings.list()['memory.budget'], { value: 'auto', source: 'default' });
  const reset = await ask(port, { method: 'DELETE', path: '/admin/settings/models.chat.mode' });
  assert.deepEqual(reset.json(), { value: 'auto', source: 'default' });
  const one = await ask(port, { path: '/admin/settings/models.chat.keepLoaded' });
  assert.deepEqual(one.json(), { value: true, source: 'settings' });
});

test('a setting that there is not is named with the nearest one, and changes nothing', async (t) => {
  const { port, settings } = await startEdge(t);
  const body = { 'models.chat.mode': 'gpu', 'memory.bugdet': '4GiB' };
  const answer = await ask(port, { method: 'PATCH', path: '/admin/settings', body });
  assert.equal(
    errorOf(answer)['message'],
    'There is no setting "memory.bugdet". Did you mean "memory.budget"?',
  );
  assert.equal(settings.list()['models.chat.mode']?.source, 'default');
  const gone = await ask(port, { method: 'DELETE', path: '/admin/settings/memory.bugdet' });
  assert.deepEqual([gone.status, errorOf(gone)['code']], [404, 'unknown_setting']);
  for (const wrong of [[], 'text', {}]) {
    const path = '/admin/settings';
    const headers = { 'content-type': 'application/json' };
    const refused = await ask(port, { method: 'PATCH', path, headers, body: JSON.stringify(wrong) });
    assert.deepEqual([refused.status, errorOf(refused)['code']], [400, 'invalid_request']);
  }
});

test('what fails unforeseen is logged in full and told without its inside', async (t) => {
  const settings = memorySettings({});
  settings.list = () => {
    throw new TypeError('secret path /data/settings.json');
  };
  const { port, logged } = await startEdge(t, { settings });
  const answer = await ask(port, { path: '/admin/settings' });
  assert.deepEqual([answer.status, errorOf(answer)['code']], [500, 'internal']);
  assert.ok(!answer.text.includes('secret'));
  assert.equal(logged[0]?.level, 'error');
});

test('the state is the view, kept by no cache', async (t) => {
  const { port } = await startEdge(t);
  const answer = await ask(port, { path: '/admin/state' });
  assert.deepEqual(answer.json(), homeView());
  assert.equal(answer.headers['cache-control'], 'no-store');
});
