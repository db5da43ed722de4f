import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { type CliWorld, HELP, parseCommand, readConfigText, runCommand } from '../../app/cli.ts';

function world(more: Partial<CliWorld> = {}) {
  const texts = { out: '', error: '' };
  const value: CliWorld = {
    variable: () => undefined,
    readFile: () => {
      throw Object.assign(new Error('no such file'), { code: 'ENOENT' });
    },
    fetch: globalThis.fetch,
    version: '1.2.3',
    confirm: null,
    run: () => Promise.reject(new Error('no shell here')),
    out: (text) => {
      texts.out += text;
    },
    error: (text) => {
      texts.error += text;
    },
    ...more,
  };
  return { texts, value };
}

async function run(argv: string[], more: Partial<CliWorld> = {}) {
  const command = parseCommand(argv);
  assert.notEqual(command.run, 'serve');
  if (command.run === 'serve') return { code: -1, out: '', error: '' };
  const { texts, value } = world(more);
  return { code: await runCommand(command, value), ...texts };
}

test('the command line is read, options before or after the command', () => {
  const table: [string[], ReturnType<typeof parseCommand>][] = [
    [[], { run: 'serve', config: null }],
    [['serve', '--config', '/x.yaml'], { run: 'serve', config: '/x.yaml' }],
    [['--config=/x.yaml'], { run: 'serve', config: '/x.yaml' }],
    [
      ['--json', 'status', '--url', 'http://nas:11535'],
      { run: 'status', url: 'http://nas:11535', token: null, json: true },
    ],
    [['config', 'check', '--config', 'a'], { run: 'config_check', config: 'a', json: false }],
    [['config', 'schema', '--json'], { run: 'config_schema' }],
    [['--help', 'nonsense'], { run: 'help' }],
    [['-h'], { run: 'help' }],
    [['--version'], { run: 'version', json: false }],
  ];
  for (const [argv, command] of table) assert.deepEqual(parseCommand(argv), command, argv.join(' '));
});

test('wrong use is exit 2 with a word on what is right', async () => {
  const table: [string[], RegExp][] = [
    [['sttaus'], /no command sttaus; did you mean status\?/],
    [['status', 'now'], /takes no argument/],
    [['config'], /check or schema/],
    [['config', 'chek'], /did you mean check\?/],
    [['config', 'check', 'x'], /takes no argument/],
    [['config', 'schema', '--config', 'x'], /takes no --config/],
    [['serve', '--url', 'x'], /serve takes no --url/],
    [['status', '--config', 'x'], /status takes no --config/],
    [['--loud'], /--loud/],
    [['status', '--url'], /url/],
    [['status', '--url', 'nas'], /no URL/],
  ];
  for (const [argv, message] of table) {
    const { code, error, out } = await run(argv);
    assert.equal(code, 2, argv.join(' '));
    assert.match(error, message);
    assert.equal(out, '');
  }
});

test('what is not built yet is neither in the help nor a command', async () => {
  for (const command of ['plan', 'doctor', 'duplicates', 'profile']) {
    assert.ok(!HELP.includes(command), command);
    assert.equal((await run([command])).code, 2);
  }
});

test('help, version and schema are printed', async () => {
  assert.deepEqual(await run(['--help']), { code: 0, out: HELP, error: '' });
  assert.equal((await run(['--version'])).out, 'llamastead 1.2.3\n');
  assert.deepEqual(JSON.parse((await run(['--version', '--json'])).out), { version: '1.2.3' });
  assert.equal(JSON.parse((await run(['config', 'schema'])).out).properties.listen.type, 'object');
});

test('config check: 0 valid, 1 unreadable, 2 wrong, as text and as JSON', async () => {
  const good = { readFile: () => 'listen: {port: 80}' };
  const bad = { readFile: () => 'listen:\n  prt: 80' };
  assert.deepEqual(await run(['config', 'check', '--config', '/c.yaml'], good), {
    code: 0,
    out: '/c.yaml is valid\n',
    error: '',
  });
  const idle = { readFile: () => 'promptState: {size: 1GiB}' };
  const notice = '/c.yaml:1: promptState.size has no effect yet in this version';
  assert.deepEqual(await run(['config', 'check', '--config', '/c.yaml'], idle), {
    code: 0,
    out: `/c.yaml is valid\n${notice}\n`,
    error: '',
  });
  const idleJson = await run(['config', 'check', '--json', '--config', '/c.yaml'], idle);
  assert.deepEqual([idleJson.code, JSON.parse(idleJson.out).notices], [0, [notice]]);
  const wrong = await run(['config', 'check', '--config', '/c.yaml'], bad);
  assert.equal(wrong.code, 2);
  assert.match(wrong.error, /^\/c\.yaml:2: listen\.prt: .*did you mean port\?/);
  const json = await run(['config', 'check', '--json', '--config', '/c.yaml'], bad);
  assert.equal(json.code, 2);
  const { ok, problems } = JSON.parse(json.out);
  assert.deepEqual(
    [ok, problems[0].line, problems[0].key, problems[0].suggestion],
    [false, 2, 'listen.prt', 'port'],
  );
  const absent = await run(['config', 'check', '--config', '/nowhere.yaml']);
  assert.equal(absent.code, 1);
  assert.match(absent.error, /\/nowhere\.yaml cannot be read/);
  const none = await run(['config', 'check']);
  assert.equal(none.code, 0);
  assert.match(none.out, /does not exist: the defaults hold/);
});

test('the file is --config, else LLAMASTEAD_CONFIG, else the default, which may be missing', () => {
  const read: string[] = [];
  const outside = {
    variable: (name: string) => (name === 'LLAMASTEAD_CONFIG' ? '/env.yaml' : undefined),
    readFile: (path: string) => {
      read.push(path);
      return '';
    },
  };
  readConfigText('/given.yaml', outside);
  readConfigText(null, outside);
  readConfigText(null, { ...outside, variable: () => undefined });
  assert.deepEqual(read, ['/given.yaml', '/env.yaml', '/config/llamastead.yaml']);
  const refused = {
    variable: () => undefined,
    readFile: () => {
      throw Object.assign(new Error('EACCES'), { code: 'EACCES' });
    },
  };
  assert.throws(() => readConfigText(null, refused), { code: 'config_unreadable' });
});

const STATE = {
  seq: 7,
  time: '2026-01-01T00:00:00Z',
  version: '0.1.0',
  models: [
    {
      name: 'chat',
      status: 'ready',
      placement: 'cpu',
      mode: 'auto',
      placements: ['gpu', 'cpu'],
      lastError: null,
    },
    { name: 'tiny', status: 'stopped', placement: 'none', mode: 'off', placements: ['cpu'] },
  ],
  leases: 1,
  queue: 2,
  memory: {
    total: 16 * 2 ** 30,
    available: 8 * 2 ** 30,
    reserve: 2 * 2 ** 30,
    budget: 14 * 2 ** 30,
    models: 2 ** 30,
    services: null,
  },
  gpus: [],
  problems: [] as { code: string; text: string; fix: string }[],
};

/** A server that answers as the admin API does; the token is `right`. */
const answers = { body: JSON.stringify(STATE), status: 200 };
const server = createServer((req, res) => {
  const allowed = req.headers.authorization === 'Bearer right';
  res.writeHead(allowed ? answers.status : 401, { 'content-type': 'application/json' });
  res.end(allowed ? answers.body : '{}');
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
after(() => server.close());
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

test('status tells models, memory and problems; exit 1 when there are problems', async () => {
  const well = await run(['status', '--url', url, '--token', 'right']);
  assert.equal(well.code, 0);
  assert.match(
    well.out,
    /chat: ready on cpu\n {2}tiny: stopped, mode off\nMemory: models take 1\.0 GiB of 14\.0 GiB/,
  );
  answers.body = JSON.stringify({
    ...STATE,
    problems: [{ code: 'x', text: 'Docker is away.', fix: 'Start it.' }],
  });
  const ill = await run(['status'], {
    variable: (name) => ({ LLAMASTEAD_URL: url, LLAMASTEAD_TOKEN: 'right' })[name],
  });
  assert.equal(ill.code, 1);
  assert.match(ill.out, /Docker is away\.\n {4}Start it\./);
  answers.body = JSON.stringify(STATE);
});

test('status --json prints the snapshot as it came', async () => {
  const { code, out } = await run(['status', '--json', '--url', url, '--token', 'right']);
  assert.equal(code, 0);
  assert.deepEqual(JSON.parse(out), STATE);
});

test('status says when nothing answers, the token is wrong, or it is another program', async () => {
  const locked = await run(['status', '--url', url]);
  assert.equal(locked.code, 1);
  assert.match(locked.error, /admin token/);
  answers.body = '<html>';
  const other = await run(['status', '--url', url, '--token', 'right']);
  assert.equal(other.code, 1);
  assert.match(other.error, /not as Llamastead does/);
  answers.body = JSON.stringify(STATE);
  const closed = createServer();
  await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve));
  const { port } = closed.address() as AddressInfo;
  await new Promise((resolve) => closed.close(resolve));
  const away = await run(['status', '--json', '--url', `http://127.0.0.1:${port}`]);
  assert.equal(away.code, 1);
  assert.equal(JSON.parse(away.out).error.code, 'unreachable');
});
