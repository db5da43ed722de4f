/** What people ask: when it is done, what is said where it cannot be, and what a new configuration takes along. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { decide } from '../../app/core/decide.ts';
import type { InstancePhase } from '../../app/core/instance.ts';
import { commandResult } from '../../app/core/on-command.ts';
import type { SettingChange } from '../../app/core/request.ts';
import { emptyState, type State } from '../../app/core/state.ts';
import { GIB, model, policy } from '../support/model.ts';
import { makeWorld, type World } from '../support/world.ts';

const NOW = { mono: 5_000, wall: 9_000 };
const since = 0;

const answers = (world: World) =>
  world.effects.flatMap((effect) => (effect.type === 'answer_command' ? [effect.result] : []));
const ask = (world: World, verb: 'load' | 'unload' | 'restart', name = 'chat') =>
  world.submit({ type: 'command', id: 1, command: { do: verb, model: name } });

describe('a command is refused', () => {
  const nothing = model('chat', { placements: ['cpu'], mode: 'gpu' });
  const off = model('chat', { mode: 'off' });
  const placeless = 'chat has no placement that mode gpu allows on this machine.';
  const ROWS = [
    [
      'of an unknown model',
      off,
      'n'.repeat(90),
      'load',
      'unknown_model',
      `There is no model "${'n'.repeat(80)}".`,
    ],
    ['for a model that is off', off, 'chat', 'load', 'mode_off', 'chat is switched off (mode off).'],
    ['for a restart of it too', off, 'chat', 'restart', 'mode_off', 'chat is switched off (mode off).'],
    ['where the mode leaves no placement', nothing, 'chat', 'load', 'capacity', placeless],
  ] as const;
  for (const [name, one, asked, verb, code, message] of ROWS) {
    test(name, () => {
      const world = makeWorld({ policy: policy([one]) });
      ask(world, verb, asked);
      assert.deepEqual(answers(world), [{ ok: false, code, message }]);
      assert.equal(world.loop.state.commands.size, 0);
    });
  }

  test('before there is a configuration', () => {
    const input = { type: 'command', id: 1, command: { do: 'load', model: 'chat' } } as const;
    const result = { ok: false, code: 'unknown_model', message: 'There is no model "chat".' };
    assert.deepEqual(decide(emptyState(), input, NOW).effects, [{ type: 'answer_command', id: 1, result }]);
  });

  test('but an unload is always done', () => {
    for (const one of [off, nothing]) {
      const world = makeWorld({ policy: policy([one]) });
      ask(world, 'unload');
      assert.deepEqual(answers(world), [{ ok: true }]);
    }
  });
});

describe('a command', () => {
  const idle = () => {
    const world = makeWorld({ policy: policy([model('chat')]) });
    world.end(world.request());
    return world;
  };

  test('load of a model that is there leaves it there', () => {
    const world = idle();
    ask(world, 'load');
    assert.deepEqual(answers(world), [{ ok: true }]);
    assert.equal(world.started.length, 1);
    assert.equal(world.factTypes().includes('model_unloading'), false);
  });

  test('unload is told with its reason', () => {
    const world = idle();
    ask(world, 'unload');
    assert.deepEqual(
      world.facts.slice(-2).map(({ type, why }) => [type, why]),
      [
        ['model_unloading', 'command'],
        ['model_unloaded', 'command'],
      ],
    );
  });

  test('load that an unload overtakes could not be done', () => {
    const world = makeWorld({ policy: policy([model('chat')]), holdStarts: true });
    ask(world, 'load');
    world.submit({ type: 'command', id: 2, command: { do: 'unload', model: 'chat' } });
    const failed = { ok: false, code: 'load_failed', message: 'It could not be loaded.' };
    assert.deepEqual(answers(world), [failed, { ok: true }]);
  });

  test('of a model that is taken out of the configuration ends with that', () => {
    const world = makeWorld({ policy: policy([model('chat')]), holdStarts: true });
    ask(world, 'load');
    world.submit({ type: 'configured', policy: policy([]), why: 'reload' });
    assert.deepEqual(answers(world), [{ ok: false, code: 'unknown_model', message: 'chat' }]);
  });
});

describe('the result of a command', () => {
  const WISH = { since, tried: new Set<never>() };
  const READY: InstancePhase = { state: 'ready', since };
  const STARTING: InstancePhase = { state: 'starting', since, adopted: false };
  const DRAINING: InstancePhase = { state: 'draining', since, why: 'command', reason: null };
  const stuck = (detail: string): InstancePhase => ({ state: 'stuck', since, detail });
  const OK = { ok: true };
  const says = (code: string, message: string) => ({ ok: false, code, message });
  const NOT_GONE = 'Its container does not go away, so its memory counts as taken: one; two.';
  interface Row {
    readonly verb: 'load' | 'unload' | 'restart';
    readonly wished?: boolean;
    /** Instances that were there when it was asked, and those that came since. */
    readonly leaving?: readonly InstancePhase[];
    readonly came?: readonly InstancePhase[];
    readonly error?: string;
    readonly result: object | null;
  }
  const ROWS: readonly Row[] = [
    { verb: 'load', wished: true, result: null },
    { verb: 'load', came: [STARTING], result: null },
    { verb: 'load', came: [READY], result: OK },
    { verb: 'load', came: [DRAINING], result: says('load_failed', 'It could not be loaded.') },
    { verb: 'load', error: 'no room', result: says('load_failed', 'no room') },
    { verb: 'restart', wished: true, leaving: [DRAINING], came: [READY], result: null },
    { verb: 'restart', wished: true, leaving: [stuck('one')], came: [READY], result: OK },
    { verb: 'restart', leaving: [READY], result: null },
    { verb: 'unload', result: OK },
    { verb: 'unload', came: [READY], result: OK },
    { verb: 'unload', leaving: [DRAINING], result: null },
    { verb: 'unload', leaving: [DRAINING], wished: true, result: OK },
    { verb: 'unload', leaving: [stuck('one'), DRAINING], result: null },
    { verb: 'unload', leaving: [stuck('one'), stuck('two')], result: says('unload_failed', NOT_GONE) },
  ];
  for (const [
    index,
    { verb, wished = false, leaving = [], came = [], error = null, result },
  ] of ROWS.entries()) {
    test(`row ${index + 1}: ${verb}`, () => {
      const world = makeWorld({ policy: policy([model('chat')]) });
      world.request();
      const state: State = structuredClone(world.loop.state);
      const [like] = state.instances.values();
      const own = state.models.get('chat');
      assert.ok(like && own);
      state.instances.clear();
      for (const [at, phase] of [...leaving, ...came].entries())
        state.instances.set(`i${at}`, { ...like, id: `i${at}`, phase });
      own.wanted = wished ? WISH : null;
      own.lastError = error;
      const asked = { id: 1, command: { do: verb, model: 'chat' }, since } as const;
      const ids = new Set(leaving.map((_, at) => `i${at}`));
      assert.deepEqual(commandResult(state, { ...asked, leaving: ids }), result);
    });
  }
});

describe('a restart', () => {
  test('alone takes a reduction back', () => {
    for (const verb of ['load', 'unload', 'restart'] as const) {
      const world = makeWorld({
        policy: policy([model('chat')]),
        carried: { reductions: { 'chat-gpu': { parallel: 1, context: 2048, since: 0 } } },
      });
      assert.equal(world.loop.state.policy?.models.get('chat')?.profiles.gpu?.parallel, 1);
      ask(world, verb);
      const { parallel } = world.loop.state.policy?.models.get('chat')?.profiles.gpu ?? {};
      assert.equal(parallel, verb === 'restart' ? 2 : 1);
    }
  });
});

describe('a new configuration', () => {
  const chat = policy([model('chat')]);
  const configured = (
    state: State,
    why: 'start' | 'scan' | 'reload' | 'settings',
    settings?: SettingChange[],
  ) => decide(state, { type: 'configured', policy: chat, why, ...(settings && { settings }) }, NOW);

  test('is told where the file was read again', () => {
    const world = makeWorld({ policy: chat });
    for (const why of ['start', 'scan', 'reload', 'settings'] as const)
      assert.deepEqual(
        configured(world.loop.state, why).facts,
        why === 'reload' ? [{ type: 'config_reloaded' }] : [],
      );
  });

  test('has what could not be read read again, and nothing else', () => {
    const state = structuredClone(makeWorld({ policy: chat }).loop.state);
    const problem = { code: 'model_file_missing', about: 'a.gguf', text: '', fix: '' } as const;
    state.needs.clear();
    state.needs.set('a', { kind: 'unknown', problem, retryAt: 9_000 });
    state.needs.set('b', { kind: 'pending', problem });
    state.needs.set('c', { kind: 'known', need: { ram: GIB, mapped: 0, vram: {}, parts: [] } });
    assert.deepEqual(
      configured(state, 'scan').changes.filter(({ type }) => type !== 'policy_set'),
      [
        { type: 'need_forgotten', hash: 'a' },
        { type: 'problem_cleared', key: 'model_file_missing::a.gguf' },
      ],
    );
  });

  test('tells a changed mode of a model as such, and all else as a setting', () => {
    const told = (key: string, to: string, name?: string) => {
      const change = { key, from: 'auto', to, source: 'settings', ...(name && { model: name }) } as const;
      return configured(makeWorld({ policy: chat }).loop.state, 'settings', [change]).facts;
    };
    const all = { from: 'auto', source: 'settings' } as const;
    const chatToo = { ...all, model: 'chat' } as const;
    assert.deepEqual(told('models.chat.mode', 'gpu', 'chat'), [
      { type: 'mode_changed', ...chatToo, mode: 'gpu' },
    ]);
    for (const [key, to, name] of [
      ['models.chat.mode', 'fast', 'chat'],
      ['models.chat.placement', 'gpu', 'chat'],
      ['models.chat.mode', 'gpu', undefined],
    ] as const) {
      const of = name === undefined ? all : chatToo;
      assert.deepEqual(told(key, to, name), [{ type: 'setting_changed', ...of, key, value: to }]);
    }
  });
});
