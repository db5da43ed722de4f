import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configJsonSchema, parseConfig } from '../../app/config.ts';
import { fc } from '../support/property.ts';
import { load, nothingOutside, problemsOf } from './support.ts';

const EVERY_KEY = `
listen: {host: 127.0.0.1, port: 1234}
security: {adminToken: a-token, apiKeys: [k1, {env: KEY2}], allowedHosts: [ai.example.com]}
paths: {models: /models, state: /data, modelsOnHost: /srv/models}
network: home
language: ko
timezone: Asia/Seoul
engines:
  local: {socket: /var/run/docker.sock}
  tower: {ssh: user@tower, models: /srv/models}
  rack: {host: rack.lan, port: 2376, tls: {ca: /tls/ca, cert: /tls/cert, key: /tls/key}, models: /srv/models}
images: {cpu: a:1, cuda: b:1, vulkan: c:1, rocm: d:1, mirror: registry.lan:5000}
gpus: [{name: card1, kind: nvidia, engine: local, devices: [CUDA0], env: {GGML_CUDA_NO_PINNED: 1}, memory: dedicated, headroom: 1GiB}]
models:
  chat:
    file: qwen2.5-7b-q4_k_m.gguf
    projector: null
    task: auto
    aliases: [gpt-4o-mini]
    context: 8192
    parallel: 2
    placements: [gpu, split, cpu]
    idleUnload: never
    keepLoaded: false
    env: {LLAMA_ARG_CACHE_TYPE_K: q8_0}
    gpu: {devices: [card1], context: 4096, parallel: 1, env: {LLAMA_ARG_BATCH: 512}}
    split: {devices: [card1]}
    cpu: {file: qwen2.5-1.5b-q4_k_m.gguf, projector: null, threads: 3, standby: warm}
memory: {reserve: 2GiB, budget: 6GiB, services: [plex]}
queue: {depth: 8, deadline: 60s}
failover: {resume: never, firstToken: 90s, stall: 30s, silence: 20s, returnAfter: 10s, streamKeepalive: 5s, connect: 100ms}
promptState: {keep: ram, size: 1GiB, maxAge: 1d, writesPerDay: 1GiB}
shutdown: {instances: keep, grace: 10s}
mqtt: {embedded: {on: false, host: 127.0.0.1, port: 1, username: u, password: {file: /secret}}, url: "mqtt://broker:1883", username: u, password: p, base: a/b, instance: cabin, discovery: null}
schedules: [{cron: "0 2 * * *", do: unload, model: chat}, {cron: "*/5 9-17 * jan-mar mon,fri", do: mode, mode: cpu}, {cron: "0 0 3 1 * *", do: drill, scenario: kill}]
log: {level: debug}
`;

test('no file, an empty file and sections without content give the defaults', () => {
  const { config } = load(null);
  assert.equal(config.listen.port, 11_535);
  assert.equal(config.models, 'auto');
  assert.equal(config.gpus, 'auto');
  assert.equal(config.queue.deadline, 300_000);
  assert.equal(config.mqtt.embedded.password, null);
  for (const text of ['', '# nothing\n', 'models:\nmemory:\n']) assert.deepEqual(load(text).config, config);
});

test('every key of the contract is read, with sizes in bytes, durations in milliseconds and secrets resolved', () => {
  const outside = {
    variable: (name: string) => (name === 'KEY2' ? 'k2' : undefined),
    readFile: () => 'from-file\n',
  };
  const { config, fileKeys } = load(EVERY_KEY, outside);
  assert.deepEqual(config.security.apiKeys, ['k1', 'k2']);
  assert.equal(config.mqtt.embedded.password, 'from-file');
  assert.equal(config.memory.budget, 6 * 2 ** 30);
  assert.equal(config.failover.connect, 100);
  assert.ok(config.models !== 'auto' && config.gpus !== 'auto');
  assert.equal(config.models['chat']?.idleUnload, 'never');
  assert.deepEqual(config.models['chat']?.gpu.env, { LLAMA_ARG_BATCH: '512' });
  assert.equal(config.gpus[0]?.headroom, 2 ** 30);
  assert.ok(fileKeys.has('models.chat.cpu.threads') && fileKeys.has('memory') && !fileKeys.has('images.x'));
});

/** What is wrong, on which line, and what the message must hold. */
const WRONG: readonly [text: string, line: number, key: string, holds: readonly string[]][] = [
  [
    'models:\n  chat:\n    file: a.gguf\n    contxt: 8192',
    4,
    'models.chat.contxt',
    ['8192', 'did you mean context?'],
  ],
  ['\nport: 80', 2, 'port', ['did you mean listen.port?']],
  ['modles: {}', 1, 'modles', ['did you mean models?']],
  ['queue:\n  deadline: 5 minutes', 2, 'queue.deadline', ['"5 minutes"', '90s']],
  ['queue: {deadline: 300}', 1, 'queue.deadline', ['300', '90s']],
  ['queue: {deadline: 400d}', 1, 'queue.deadline', ['24 days']],
  ['memory: {reserve: 2GB}', 1, 'memory.reserve', ['auto', '512MiB']],
  ['listen: {port: 70000}', 1, 'listen.port', ['from 0 to 65535']],
  ['listen: {port: "80"}', 1, 'listen.port', ['whole number']],
  ['models: {chat: {}}', 1, 'models.chat.file', ['missing']],
  ['models: {chat: {file: ../x.gguf}}', 1, 'models.chat.file', ['without ..']],
  ['models: {chat: {file: /x.gguf}}', 1, 'models.chat.file', ['without a leading /']],
  ['models: {chat: {file: a/../../x.gguf}}', 1, 'models.chat.file', ['without ..']],
  ['models: {chat: {file: a.gguf, keepLoaded: yes}}', 1, 'models.chat.keepLoaded', ['true or false']],
  ['models: {chat: {file: a.gguf, placements: [gpu, gpu]}}', 1, 'models.chat.placements', ['each once']],
  ['models: {chat: {file: a.gguf, placements: []}}', 1, 'models.chat.placements', ['at least one']],
  ['models: {"bad name": {file: a.gguf}}', 1, 'models.bad name', ['letters, digits']],
  [
    'models:\n  a: {file: a.gguf, aliases: [x]}\n  b: {file: b.gguf, aliases: [y, x]}',
    3,
    'models.b.aliases[1]',
    ['an alias of a'],
  ],
  [
    'models:\n  a: {file: a.gguf}\n  b: {file: b.gguf, aliases: [a]}',
    3,
    'models.b.aliases[0]',
    ['the model a'],
  ],
  ['engines: {local: 3}', 1, 'engines.local', ['{socket: PATH}']],
  ['engines: {local: {}}', 1, 'engines.local.socket', ['missing']],
  ['engines: {far: {ssh: a@b}}', 1, 'engines.far.models', ['absolute path']],
  ['engines: {}', 1, 'engines', ['at least one engine']],
  ['gpus: [{name: a, kind: nvida}]', 1, 'gpus[0].kind', ['nvidia, amd, intel, vulkan']],
  ['gpus:\n- {name: a, kind: amd}\n- {name: a, kind: amd}', 3, 'gpus[1].name', ['no other GPU']],
  ['gpus: [{name: a, kind: amd, engine: x}]', 1, 'gpus[0].engine', ['local']],
  ['gpus: [{name: a, kind: amd, env: {LD_PRELOAD: x}}]', 1, 'gpus[0].env.LD_PRELOAD', ['GGML']],
  ['timezone: Moon/Base', 1, 'timezone', ['Asia/Seoul']],
  ['mqtt: {instance: My Home}', 1, 'mqtt.instance', ['a-z']],
  ['mqtt: {base: "a/#"}', 1, 'mqtt.base', ['without + and #']],
  ['schedules: [{cron: "0 25 * * *", do: load}]', 1, 'schedules[0].cron', ['hour is from 0 to 23']],
  [
    'schedules: [{cron: "0 0 31 4,6 *", do: load}]',
    1,
    'schedules[0].cron',
    ['day of the month', 'that the month has'],
  ],
  ['schedules: [{cron: hourly, do: load}]', 1, 'schedules[0].cron', ['five or six fields']],
  ['schedules: [{cron: "* * * * *", do: mode}]', 1, 'schedules[0].mode', ['do: mode']],
  ['schedules: [{cron: "* * * * *", do: load, mode: cpu}]', 1, 'schedules[0].mode', ['no mode']],
  [
    'models: {a: {file: a.gguf}}\nschedules: [{cron: "* * * * *", do: load, model: b}]',
    2,
    'schedules[0].model',
    ['a'],
  ],
  ['a: 1\na: 2', 2, '', ['not good YAML', 'unique']],
  ['security: {adminToken: !secret x}', 1, '', ['!secret']],
  ['models: [', 1, '', ['not good YAML']],
  ['- a', 1, '', ['a list of keys']],
];

test('a wrong file names file, line, key, value and what was expected', () => {
  for (const [text, line, key, holds] of WRONG) {
    const [problem, ...others] = problemsOf(text);
    assert.ok(problem, text);
    assert.equal(others.length, 0, `${text}: ${others.map((other) => other.text).join('\n')}`);
    assert.equal(problem.line, line, `${text}: ${problem.text}`);
    assert.equal(problem.key, key, text);
    assert.ok(problem.text.startsWith(`llamastead.yaml:${line}: `), problem.text);
    for (const part of holds) assert.ok(problem.text.includes(part), `${problem.text} lacks ${part}`);
  }
});

test('all problems of a file come at once, in the order of its lines', () => {
  const problems = problemsOf('queue: {deth: 1}\nlog: {level: loud}\nlisten: {port: x}');
  assert.deepEqual(
    problems.map(({ line, key }) => [line, key]),
    [
      [1, 'queue.deth'],
      [2, 'log.level'],
      [3, 'listen.port'],
    ],
  );
});

test('no message shows a secret, also under a misspelled key or inside a URL', () => {
  const texts = [
    'security: {adminToken: [hunter2]}',
    'security: {apiKeys: hunter2}',
    'security: {apiKeys: [{fil: hunter2}]}',
    'mqtt: {pasword: hunter2}',
    'mqtt: {embedded: {password: {text: hunter2}}}',
    'mqtt: {url: "mqtt://user:hunter2@broker"}',
    'password: hunter2',
    'mqtt: [{password: hunter2}]',
  ];
  for (const text of texts) {
    const problems = problemsOf(text);
    assert.ok(problems.length > 0, text);
    assert.ok(!JSON.stringify(problems).includes('hunter2'), JSON.stringify(problems));
  }
});

test('a secret that cannot be read is a problem at its key', () => {
  const [token, password] = problemsOf(
    'security: {adminToken: {env: NO_TOKEN}}\nmqtt: {password: {file: /nowhere}}',
  );
  assert.match(token?.text ?? '', /:1: security\.adminToken: .*NO_TOKEN/);
  assert.match(password?.text ?? '', /:2: mqtt\.password: .*\/nowhere/);
  const empty = { variable: () => '', readFile: () => '\n' };
  assert.equal(problemsOf('security: {apiKeys: [{env: A}, {file: /b}, ""]}', nothingOutside).length, 1);
  assert.equal(problemsOf('security: {apiKeys: [{env: A}, {file: /b}]}', empty).length, 2);
});

test('a bomb of aliases is refused', () => {
  const levels = Array.from({ length: 12 }, (_, n) => `a${n + 1}: &a${n + 1} [${`*a${n},`.repeat(9)}]`);
  assert.ok(problemsOf(`a0: &a0 [x]\n${levels.join('\n')}`).length > 0);
});

test('any text gives a configuration or problems, never an exception', () => {
  const piece = fc.constantFrom(
    'models',
    'chat',
    ':',
    ' ',
    '\n',
    '  ',
    '[',
    '{',
    '}',
    ']',
    '-',
    '&a',
    '*a',
    '"',
    '0',
    '!x',
    ',',
    '#',
    '|',
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
      const parsed = parseConfig(pieces.join(''), 'f.yaml', nothingOutside);
      assert.ok(parsed.ok || parsed.problems.length > 0);
    }),
    { numRuns: 300 },
  );
});

test('the JSON schema describes every key and allows no other', () => {
  const walk = (node: unknown, path: string): void => {
    if (typeof node !== 'object' || node === null) return;
    const { type, properties, additionalProperties } = node as Record<string, unknown>;
    if (type === 'object' && properties !== undefined) assert.equal(additionalProperties, false, path);
    for (const [key, value] of Object.entries(node)) walk(value, `${path}.${key}`);
  };
  walk(configJsonSchema(), '');
});

test('keys that have no effect yet are told with their lines, and only those that the file sets', () => {
  const text = [
    'engines:',
    '  far: {ssh: me@nas, models: /models}',
    'models:',
    '  a.b:',
    '    file: a.gguf',
    '    placements: [gpu, split, cpu]',
    '    split: {context: 4096}',
    '    cpu: {standby: cached, threads: 2}',
    'promptState:',
    '  size: 1GiB',
    'schedules:',
    '  - {cron: "0 2 * * *", do: unload}',
    'queue: {depth: 3}',
  ].join('\n');
  assert.deepEqual(load(text).notices, [
    'llamastead.yaml:2: engines.far.ssh has no effect yet in this version',
    'llamastead.yaml:6: models.a.b.placements[1]: split has no effect yet in this version',
    'llamastead.yaml:7: models.a.b.split has no effect yet in this version',
    'llamastead.yaml:10: promptState.size has no effect yet in this version',
  ]);
  assert.deepEqual(load('queue: {depth: 3}').notices, []);
  assert.deepEqual(load(null).notices, []);
});
