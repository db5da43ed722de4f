/** When a drill begins, waits, is refused or means nothing, on a scripted home. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../app/clock.ts';
import type { DrillScenario } from '../../app/core/drill.ts';
import type { DrillReport } from '../../app/core/drill-report.ts';
import type { Model } from '../../app/core/types.ts';
import { AppError } from '../../app/errors.ts';
import type { SeenByClient } from '../../app/inspect/drill/client.ts';
import { spoiled } from '../../app/inspect/drill/faulty-starts.ts';
import { type DrillParts, LIMITS } from '../../app/inspect/drill/parts.ts';
import { drillRunner } from '../../app/inspect/drill/runner.ts';
import type { OtherContainer } from '../../app/ports/drills.ts';
import { manualClock } from '../support/clock.ts';
import { drillReport } from '../support/drill-report.ts';
import { host, model, policy, profile } from '../support/model.ts';
import { makeWorld, type World } from '../support/world.ts';

const REJECTED: SeenByClient = {
  id: 'x',
  idBack: 'x',
  end: 'error',
  error: { code: 'exceed_context_size_error', message: 'too long' },
  status: 400,
  placement: 'gpu',
  attempts: 1,
  attempt: null,
  continued: false,
  pieces: 0,
  toolCalls: 0,
  speed: null,
  firstContentMs: null,
  endMs: 1,
};

const jellyfin: OtherContainer = {
  engine: 'local',
  container: 'a',
  name: 'jellyfin',
  running: true,
  startedAt: '1',
  exitCode: 0,
  oomKilled: false,
  gpus: ['dri'],
  ofAnotherHome: false,
};

function home(
  models: readonly Model[] = [model('chat')],
  others: readonly OtherContainer[] = [],
  free = 5,
  more: Partial<DrillParts> = {},
) {
  const world = makeWorld({ policy: policy(models) });
  const told: string[] = [];
  const sent: string[] = [];
  const parts: DrillParts = {
    state: world.loop.state,
    onTurn: world.loop.onTurn,
    submit: world.submit,
    command: () => Promise.resolve({ ok: true }),
    subscribe: () => () => {},
    containers: { harm: () => Promise.resolve(), others: () => Promise.resolve(others) },
    busySlots: () => Promise.resolve(0),
    begin(run) {
      told.push(`begin ${run.name}`);
      world.submit({ type: 'drill_began', id: run.id, scenario: run.name, model: run.model });
    },
    end({ verdict, why }) {
      told.push(`end ${verdict}`);
      world.submit({ type: 'drill_ended', verdict, why });
    },
    arm: () => {},
    sample: () => Promise.resolve(host(7)),
    // As the program itself would: the warm-up is answered, what is sent then is refused.
    send({ id }) {
      sent.push(id);
      const seen = id.includes('warm-up') ? { ...REJECTED, end: 'whole' as const } : REJECTED;
      return { id, done: Promise.resolve({ ...seen, id, idBack: id }), content: async () => {}, leave() {} };
    },
    random: () => 'abcdef0123456789',
    iso: (wall) => new Date(wall).toISOString(),
    clock: systemClock,
    limits: { free, answer: 1_000, recovery: 1_000, soon: 1_000 },
    ...more,
  };
  const kept: DrillReport[] = [];
  const drills = drillRunner(parts, { reports: () => kept, add: (report) => void kept.push(report) });
  const run = (scenario: string, name: string | null = 'chat') => drills.run({ scenario, model: name });
  return { world, run, told, sent, kept, keep: drills.keep };
}

/** So that the GPU instance is there. */
function used(world: World): void {
  world.end(world.request());
}

async function refusedWith(promise: Promise<unknown>, code: string, text: RegExp): Promise<void> {
  await assert.rejects(promise, (error) => {
    assert.ok(error instanceof AppError);
    assert.equal(error.code, code);
    assert.match(error.message, text);
    return true;
  });
}

test('both rounds run, first without streaming, are told, kept and marked', async () => {
  const { world, run, told, sent, kept } = home();
  used(world);
  const report = await run('long-prompt');
  assert.equal(report.verdict, 'passed', report.why);
  assert.deepEqual(
    report.rounds.map(({ stream }) => stream),
    [false, true],
  );
  assert.equal(report.memoryLow, 7);
  assert.deepEqual(told, ['begin long-prompt', 'end passed']);
  assert.equal(world.loop.state.drill, null);
  assert.deepEqual(kept, [report]);
  assert.deepEqual(
    sent.map((id) => id.replace('drill-abcdef01-', '')),
    ['warm-up-whole', 'whole-1', 'warm-up-stream', 'stream-1'],
  );
});

test('a wrong scenario or model is named, with what is right', async () => {
  const { run, told } = home([model('chat'), model('tiny')]);
  await refusedWith(run('kil'), 'invalid_request', /did you mean kill\?/);
  await refusedWith(run('kill', null), 'invalid_request', /chat, tiny/);
  await refusedWith(run('kill', 'x'), 'unknown_model', /"x".*chat, tiny/);
  await refusedWith(run('controller-restart'), 'drill_refused', /llamastead drill controller-restart/);
  const off = home([model('chat', { mode: 'off' })]);
  await refusedWith(off.run('kill'), 'mode_off', /switched off/);
  assert.deepEqual(told, []);
});

test('it waits until nobody uses the model, and is refused when that takes too long', async () => {
  const patient = home([model('chat')], [], 60_000);
  used(patient.world);
  const busy = patient.world.request();
  const report = patient.run('long-prompt');
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(patient.told, []);
  patient.world.end(busy);
  assert.equal((await report).verdict, 'passed');

  const { world, run, told } = home([model('chat')], [], 5);
  world.request();
  await refusedWith(run('long-prompt'), 'drill_refused', /chat was in use/);
  assert.deepEqual(told, []);
});

test('another container with the GPU, or a GPU that is out of service, refuses it', async () => {
  const shared = home([model('chat')], [jellyfin]);
  await refusedWith(shared.run('kill'), 'drill_refused', /jellyfin/);
  const stopped = home([model('chat')], [{ ...jellyfin, running: false }]);
  used(stopped.world);
  assert.equal((await stopped.run('image')).verdict, 'passed');
  const out = home();
  used(out.world);
  out.world.submit({ type: 'instance_paused', instance: 'i1' });
  await refusedWith(out.run('kill'), 'drill_refused', /gpu of chat is out of service/);
});

test('a request of others that came between the rounds ends before the second one breaks anything', async () => {
  const { world, run, sent } = home([model('chat')], [], 60_000);
  used(world);
  const between = Promise.withResolvers<number>();
  const off = world.loop.onTurn(() => {
    if (world.loop.state.drill?.exclusive !== false) return;
    off();
    between.resolve(world.request());
  });
  const report = run('long-prompt');
  const other = await between.promise;
  for (let n = 0; n < 20; n += 1) await new Promise((resolve) => setImmediate(resolve));
  assert.equal(sent.length, 2, 'the second round waits');
  assert.equal(world.loop.state.drill?.exclusive, true);
  world.end(other);
  assert.equal((await report).verdict, 'passed');
});

test('others that do not end between the rounds leave the second one unshown', async () => {
  const { world, run, sent } = home([model('chat')], [], 20);
  used(world);
  const off = world.loop.onTurn(() => {
    if (world.loop.state.drill?.exclusive !== false) return;
    off();
    world.request();
  });
  const report = await run('long-prompt');
  assert.equal(sent.length, 2);
  assert.equal(report.rounds[1]?.verdict, 'not_applicable');
  assert.match(report.why, /was in use/);
});

test('an engine that does not answer ends the drill: nobody waits for it for ever', async () => {
  const limits = { free: 20, answer: 20, recovery: 20, soon: 20 };
  const never = () => new Promise<never>(() => {});
  const table: [DrillScenario, Partial<DrillParts>][] = [
    ['gpu-gone', { command: never }],
    ['oom-runtime', { containers: { harm: never, others: () => Promise.resolve([]) } }],
  ];
  for (const [scenario, more] of table) {
    const { world, run } = home([model('chat')], [], 20, { ...more, limits });
    used(world);
    const report = await run(scenario);
    assert.notEqual(report.verdict, 'passed');
    assert.match(report.why, /within 0.02 s/);
    assert.equal(world.loop.state.drill, null);
  }
});

/** Runs `cancel`; `busyFor`: how often a round's instance says that its slot is still at work. */
async function cancelled(busyFor: number): Promise<{ report: DrillReport; askedAt: number[] }> {
  const clock = manualClock();
  const askedAt: number[] = [];
  let busy = busyFor;
  let left = 0;
  const it = home([model('chat')], [], 60_000, {
    clock,
    limits: LIMITS,
    busySlots() {
      askedAt.push(clock.now().mono - left);
      busy -= 1;
      return Promise.resolve(busy < 0 ? 0 : 1);
    },
    send({ id }) {
      if (id.includes('warm-up')) {
        const seen = { ...REJECTED, id, idBack: id, end: 'whole' as const };
        return { id, done: Promise.resolve(seen), content: async () => {}, leave() {} };
      }
      const { promise, resolve } = Promise.withResolvers<SeenByClient>();
      const request = it.world.request({ drill: true });
      const leave = (): void => {
        left = clock.now().mono;
        it.world.submit({ type: 'request_abandoned', request });
        resolve({ ...REJECTED, id, idBack: id, end: 'left', status: null });
      };
      return { id, done: promise, content: async () => {}, leave };
    },
  });
  used(it.world);
  let report: DrillReport | null = null;
  const run = it.run('cancel').then((made) => {
    report = made;
    return made;
  });
  // Finer than what the polling may do, with room for all that follows a moment.
  for (let steps = 0; report === null && steps < 2_000; steps += 1) {
    for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    clock.advance(100);
  }
  assert.notEqual(report, null, 'the drill ends');
  return { report: await run, askedAt };
}

test("an engine that does not list others' containers ends the drill, before it began or after", async () => {
  const limits = { free: 20, answer: 20, recovery: 20, soon: 20 };
  for (const answers of [0, 1]) {
    let asked = 0;
    const exclusive: (boolean | undefined)[] = [];
    const others = () => {
      asked += 1;
      exclusive.push(it.world.loop.state.drill?.exclusive);
      return asked > answers ? new Promise<never>(() => {}) : Promise.resolve([]);
    };
    const it = home([model('chat')], [], 20, {
      limits,
      containers: { harm: () => Promise.resolve(), others },
    });
    used(it.world);
    await refusedWith(it.run('long-prompt'), 'docker_unreachable', /did not answer within 0.02 s/);
    assert.deepEqual(it.told, answers === 0 ? [] : ['begin long-prompt', 'end failed']);
    assert.equal(exclusive.at(-1), answers === 0 ? undefined : false, 'nobody waits for it');
    assert.equal(it.world.loop.state.drill, null);
  }
});

test('a backend is asked for its slots seldom, until they are free', async () => {
  const { report, askedAt } = await cancelled(2);
  assert.equal(report.verdict, 'passed', report.why);
  assert.deepEqual(askedAt, [0, 2_500, 5_000, 0]);
  const text = report.rounds[0]?.checks.find(({ name }) => name === 'slot')?.text;
  assert.equal(text, '0 slots of the backend were busy afterwards.');
});

test('a slot that is never free fails the drill after ten seconds', async () => {
  const { report, askedAt } = await cancelled(Number.POSITIVE_INFINITY);
  assert.deepEqual(askedAt, [0, 2_500, 5_000, 7_500, 10_000]);
  assert.equal(report.verdict, 'failed');
  assert.match(report.why, /1 slots of the backend were busy afterwards/);
});

test('one drill at a time', async () => {
  const { world, run } = home([model('chat')], [], 60_000);
  used(world);
  const busy = world.request();
  const first = run('long-prompt');
  await refusedWith(run('image'), 'drill_running', /long-prompt on chat/);
  world.end(busy);
  await first;
  assert.equal((await run('image')).verdict, 'passed');
});

test('what means nothing here is said so, is kept, and touches nothing', async () => {
  const cpu = model('chat', { placements: ['cpu'], profiles: { cpu: profile('chat', 'cpu') } });
  const table: [Model, DrillScenario, RegExp][] = [
    [cpu, 'gpu-gone', /does not run on a GPU/],
    [cpu, 'oom-load', /does not run on a GPU/],
    [model('chat', { task: 'embedding' }), 'kill', /no chat model/],
    [model('chat'), 'second-model', /no second chat model/],
    [model('chat', { profiles: {} }), 'kill', /no placement/],
  ];
  for (const [only, scenario, why] of table) {
    const { run, told, sent, kept } = home([only]);
    const report = await run(scenario);
    assert.equal(report.verdict, 'not_applicable');
    assert.match(report.why, why);
    assert.deepEqual([told, sent, kept.length], [[], [], 1]);
  }
});

test('a start is spoiled by a device that is not there, or by a small limit', () => {
  const plan = {
    instance: 'i1',
    model: 'chat',
    profile: profile('chat', 'gpu'),
    memoryLimit: 9e9,
    promptCache: 0,
  };
  assert.deepEqual(spoiled(plan, 'missing_device').profile.gpu?.devices, ['Vulkan99']);
  assert.equal(spoiled(plan, 'missing_device').profile.hash, plan.profile.hash);
  assert.ok(spoiled(plan, 'small_limit').memoryLimit < 100e6);
});

test('a report from outside is kept and told once, under the name of its model', () => {
  const { world, keep, kept } = home([model('chat', { aliases: ['gpt'] })]);
  const report = drillReport({ id: '0123abcd', scenario: 'controller-restart', model: 'gpt' });
  keep(report);
  keep(report);
  assert.deepEqual(kept, [{ ...report, model: 'chat' }]);
  const told = world.facts.filter(({ type }) => type === 'drill_finished');
  assert.deepEqual(
    told.map(({ model, scenario, verdict, detail, seconds }) => [model, scenario, verdict, detail, seconds]),
    [['chat', 'controller-restart', report.verdict, report.why, report.seconds]],
  );
  assert.equal(world.loop.state.lastDrill?.scenario, 'controller-restart');
  assert.throws(() => keep({ ...report, id: '0123abce', model: 'x' }), /"x".*chat/);
});
