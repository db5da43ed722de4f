/** `llamastead drill`: what it asks, what it sends, what it prints. */
import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { OutsideReport } from '../../app/adapters/http/admin/outside-report.ts';
import { type CliWorld, parseCommand, runCommand } from '../../app/cli.ts';
import { drillReport } from '../support/drill-report.ts';

const REPORT = drillReport();

const home = {
  models: [{ name: 'chat', aliases: ['gpt'] }],
  leases: 0,
  queue: 0,
  seq: 4,
};
let models: readonly object[] = home.models;
let answer: { status: number; body: unknown } = { status: 200, body: REPORT };
let asked: unknown[] = [];
let handedIn: unknown[] = [];
let keeps: { status: number; body: unknown } = { status: 200, body: { seq: 7 } };
let onChat: (req: IncomingMessage, res: ServerResponse) => void = (_req, res) => res.end();

const server = createServer(async (req, res) => {
  const send = (status: number, body: unknown) => {
    res.writeHead(status, { 'content-type': 'application/json' });
    res.end(JSON.stringify(body));
  };
  if (req.url === '/admin/state') send(200, { ...home, models });
  else if (req.url?.startsWith('/admin/events')) send(200, { events: [{ seq: 5 }, { seq: 6 }], next: 6 });
  else if (req.url === '/admin/drills') {
    handedIn.push(await json(req));
    send(keeps.status, keeps.body);
  } else if (req.url === '/admin/drill') {
    asked.push(await json(req));
    send(answer.status, answer.body);
  } else onChat(req, res);
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
after(() => server.close());
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

async function run(argv: string[], more: Partial<CliWorld> = {}) {
  const texts = { out: '', error: '' };
  const command = parseCommand(['drill', '--url', url, ...argv]);
  assert.notEqual(command.run, 'serve');
  if (command.run === 'serve') return { code: -1, ...texts };
  asked = [];
  handedIn = [];
  const code = await runCommand(command, {
    variable: () => undefined,
    readFile: () => '',
    fetch: globalThis.fetch,
    version: '1',
    confirm: null,
    run: () => Promise.reject(new Error('no shell here')),
    out: (text) => {
      texts.out += text;
    },
    error: (text) => {
      texts.error += text;
    },
    ...more,
  });
  return { code, ...texts };
}

test('the scenario is a word or an option, and kill where none is given', () => {
  const scenarioOf = (...argv: string[]) => {
    const command = parseCommand(['drill', ...argv]);
    return command.run === 'drill' ? command.scenario : command;
  };
  assert.equal(scenarioOf(), 'kill');
  assert.equal(scenarioOf('hang'), 'hang');
  assert.equal(scenarioOf('--scenario', 'gpu-gone'), 'gpu-gone');
});

test('wrong use is told with what is right', async () => {
  const table: [string[], RegExp][] = [
    [['hnag'], /no scenario hnag; did you mean hang\?/],
    [['kill', 'hang'], /one scenario/],
    [['kill', '--scenario', 'hang'], /once/],
    [['kill', '--restart', 'x'], /takes no --restart/],
    [['kill'], /give --yes/],
    [['controller-restart', '--yes'], /give --restart/],
  ];
  for (const [argv, message] of table) {
    const { code, error } = await run(argv);
    assert.equal(code, 2, argv.join(' '));
    assert.match(error, message);
  }
});

test('it says first what will stop, asks, and does nothing when the answer is no', async () => {
  const questions: string[] = [];
  const confirm = (question: string) => {
    questions.push(question);
    return Promise.resolve(false);
  };
  const { code, out } = await run(['kill'], { confirm });
  assert.equal(code, 1);
  assert.match(out, /The running instance of chat is killed/);
  assert.deepEqual([questions.length, asked.length], [1, 0]);
});

test('with --yes it runs at once, on the only model or an alias, and prints the report', async () => {
  const { code, out } = await run(['kill', '--yes', '--model', 'gpt']);
  assert.equal(code, 0);
  assert.deepEqual(asked, [{ scenario: 'kill', model: 'chat' }]);
  assert.match(out, /kill on chat: passed\n {2}All went well\./);
  assert.match(out, /moved: gpu to cpu \(killed_outside\)/);
  assert.match(out, /3 containers of others: untouched/);
  assert.match(out, /least memory available: 2\.0 GiB/);
  assert.match(out, /firstToken: at the client/);
});

test('--json prints the report alone', async () => {
  const { out, error } = await run(['kill', '--yes', '--json']);
  assert.equal(JSON.parse(out).verdict, 'passed');
  assert.match(error, /is killed/);
});

test('exit code: 0 passed or not applicable, 1 failed or not run, 2 wrong use', async () => {
  const table: [typeof answer, number][] = [
    [{ status: 200, body: REPORT }, 0],
    [{ status: 200, body: { ...REPORT, verdict: 'not_applicable' } }, 0],
    [{ status: 200, body: { ...REPORT, verdict: 'failed' } }, 1],
    [{ status: 409, body: { error: { code: 'drill_refused', message: 'The GPU is in use.' } } }, 1],
    [{ status: 503, body: { error: { code: 'mode_off', message: 'chat is switched off.' } } }, 1],
    [{ status: 200, body: {} }, 1],
    [{ status: 404, body: { error: { code: 'unknown_model', message: 'There is no model.' } } }, 2],
    [{ status: 400, body: { error: { code: 'invalid_request', message: 'no such scenario' } } }, 2],
  ];
  for (const [given, code] of table) {
    answer = given;
    for (const form of [[], ['--json']]) {
      assert.equal((await run(['kill', '--yes', ...form])).code, code, JSON.stringify(given));
    }
  }
  answer = { status: 200, body: REPORT };
});

test('what the controller refuses is told in its words', async () => {
  answer = { status: 409, body: { error: { code: 'drill_refused', message: 'The GPU is in use.' } } };
  assert.match((await run(['kill', '--yes'])).error, /The GPU is in use\./);
  answer = { status: 200, body: {} };
  assert.match((await run(['kill', '--yes'])).error, /no report/);
  answer = { status: 200, body: REPORT };
  models = [...home.models, { name: 'tiny', aliases: [] }];
  const { code, error } = await run(['kill', '--yes']);
  assert.equal(code, 2);
  assert.match(error, /which model\?.*chat, tiny/);
  assert.match((await run(['kill', '--yes', '--model', 'x'])).error, /no model x/);
  models = home.models;
});

/** Answers as the model API does; the stream stays open until it is ended. */
function chatServer(ended: (res: ServerResponse) => void) {
  const streams: ServerResponse[] = [];
  onChat = (req, res) => {
    const id = req.headers['x-request-id'] ?? '';
    res.setHeader('x-request-id', id);
    req.resume();
    if (!String(id).endsWith('-stream')) {
      res.end('{"choices":[]}');
      return;
    }
    streams.push(res);
    res.write('data: {"choices":[{"delta":{"content":"one"}}]}\n\n');
  };
  return () => {
    for (const res of streams) ended(res);
    return Promise.resolve(0);
  };
}

test('controller-restart: a stream that ends explicitly passes, one that is cut fails', async () => {
  const error = 'data: {"error":{"code":"capacity","message":"Llamastead is shutting down."}}\n\n';
  const table: [(res: ServerResponse) => void, number, RegExp][] = [
    [(res) => res.end(error), 0, /ended by an explicit error \(capacity\)/],
    [(res) => res.end('data: [DONE]\n\n'), 0, /The stream ended whole/],
    [(res) => res.destroy(), 1, /cut without an error/],
  ];
  for (const [ended, code, text] of table) {
    const it = await run(['controller-restart', '--yes', '--json', '--restart', 'restart it'], {
      run: chatServer(ended),
    });
    assert.equal(it.code, code, it.out);
    assert.match(JSON.parse(it.out).why, text);
    assert.deepEqual(handedIn, [JSON.parse(it.out)]);
    assert.deepEqual(OutsideReport.parse(handedIn[0]), handedIn[0]);
  }
});

test('controller-restart: a report that cannot be kept is printed all the same', async () => {
  keeps = { status: 404, body: { error: { code: 'not_found', message: 'There is no such path.' } } };
  const { code, out, error } = await run(['controller-restart', '--yes', '--json', '--restart', 'x'], {
    run: chatServer((res) => res.end('data: [DONE]\n\n')),
  });
  keeps = { status: 200, body: { seq: 7 } };
  assert.deepEqual([code, JSON.parse(out).verdict], [0, 'passed']);
  assert.match(error, /not kept: There is no such path/);
});

test('controller-restart: a restart that fails is told', async () => {
  chatServer(() => undefined);
  const { code, error } = await run(['controller-restart', '--yes', '--restart', 'false'], {
    run: () => Promise.resolve(3),
  });
  assert.equal(code, 1);
  assert.match(error, /"false" ended with exit code 3/);
});
