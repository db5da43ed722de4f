/**
 * The drill `controller-restart`: only from outside of the controller, which cannot watch its own end. A stream
 * is under way while it restarts; afterwards it has to answer again and to know its events.
 */
import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { systemClock } from '../clock.ts';
import type { DrillCheck, DrillReport } from '../core/drill-report.ts';
import { AppError } from '../errors.ts';
import { drillBody } from '../inspect/drill/bodies.ts';
import { drillClient, type SeenByClient, type Send } from '../inspect/drill/client.ts';
import { pause } from '../inspect/drill/until.ts';
import { within } from '../within.ts';
import { askAdmin } from './ask.ts';
import type { Controller, DrillWorld } from './drill.ts';

const ANSWER_MS = 300_000;
/** For the controller to go and to be there again. */
const RESTART_MS = 300_000;
const POLL_MS = 100;
const TOKENS = 512;

const Seq = z.object({ seq: z.number() });
const Events = z.object({ events: z.array(z.object({ seq: z.number() })), gap: z.boolean().optional() });

export async function restartDrill(
  command: string | null,
  model: string,
  controller: Controller,
  world: DrillWorld,
): Promise<DrillReport> {
  if (command === null && world.confirm === null)
    throw new AppError('wrong_use', 'give --restart with the command that restarts Llamastead');
  const id = randomBytes(4).toString('hex');
  const startedAt = systemClock.now();
  const since = () => systemClock.now().mono - startedAt.mono;
  const send: Send = drillClient({ url: () => controller.url, key: () => world.apiKey, clock: systemClock });
  const ask = (name: string, tokens: number, stream: boolean) =>
    send({
      id: `drill-${id}-${name}`,
      body: drillBody('long_answer', { model, stream, tokens, context: 0 }),
      stream,
      mark: id,
      limitMs: ANSWER_MS,
    });
  await ask('warm-up', 1, false).done;
  const { seq } = Seq.parse(await askAdmin(controller.url, controller.token, '/admin/state'));
  const stream = ask('stream', TOKENS, true);
  await stream.content(1);
  await restart(command, world).catch((thrown: unknown) => {
    stream.leave();
    throw thrown;
  });
  const seen = await stream.done;
  const awayMs = since();
  const after = await back(controller, seq);
  const again = after === null ? null : await ask('after', 1, false).done;
  const backMs = again?.end === 'whole' ? since() - awayMs : null;
  return made({ id, model, startedAt: startedAt.wall, seconds: since() / 1000, seen, awayMs, backMs, after });
}

async function restart(command: string | null, world: DrillWorld): Promise<void> {
  if (command === null) {
    world.say('Restart Llamastead now, for example by: docker restart llamastead\n');
    return;
  }
  const code = await world.run(command);
  if (code !== 0) throw new AppError('restart_failed', `"${command}" ended with exit code ${code}`);
}

/** What the controller knows when it answers again; null: it does not, in time. */
async function back(
  { url, token }: Controller,
  before: number,
): Promise<{ readonly eventsKept: boolean } | null> {
  const limit = systemClock.now().mono + RESTART_MS;
  while (systemClock.now().mono < limit) {
    const asked = askAdmin(url, token, `/admin/events?since=${before}`).catch(() => null);
    const events = Events.safeParse(await within({ clock: systemClock }, asked, RESTART_MS));
    if (events.success) {
      const numbers = events.data.events.map(({ seq }) => seq);
      return { eventsKept: events.data.gap !== true && numbers.every((seq, i) => seq === before + 1 + i) };
    }
    await pause({ clock: systemClock }, POLL_MS);
  }
  return null;
}

interface Found {
  readonly id: string;
  readonly model: string;
  readonly startedAt: number;
  readonly seconds: number;
  readonly seen: SeenByClient;
  readonly awayMs: number;
  readonly backMs: number | null;
  readonly after: { readonly eventsKept: boolean } | null;
}

function made({ id, model, startedAt, seconds, seen, awayMs, backMs, after }: Found): DrillReport {
  const checks = checksOf(seen, backMs, after);
  const bad = checks.filter(({ ok }) => !ok);
  const verdict = bad.length === 0 ? 'passed' : 'failed';
  const why = (bad.length === 0 ? checks : bad).map(({ text }) => text).join(' ');
  const round = {
    stream: true,
    verdict,
    why,
    outcome: seen.end === 'whole' ? 'undisturbed' : seen.end === 'error' ? 'error' : 'broken',
    requests: 1,
    firstFailure: seen.end === 'whole' ? null : seen.endMs / 1000,
    reason: null,
    from: null,
    to: null,
    cpuStart: null,
    firstToken: seen.firstContentMs === null ? null : seen.firstContentMs / 1000,
    answered: seen.endMs / 1000,
    complete: seen.end === 'whole',
    connectionKept: seen.end === 'whole' || seen.end === 'error',
    attempts: seen.attempts,
    idKept: seen.idBack === null || seen.idBack === seen.id,
    toolCalls: seen.toolCalls,
    gpuBack: backMs === null ? null : Math.round(backMs) / 1000,
    checks,
  } as const;
  return {
    id,
    scenario: 'controller-restart',
    model,
    startedAt: new Date(startedAt).toISOString(),
    seconds: Math.round(seconds * 1000) / 1000,
    verdict,
    why,
    rounds: [round],
    others: { compared: 0, untouched: true, changed: [] },
    memoryLow: null,
    measured: {
      answered: 'at the client: from sending the request to the end of its stream',
      gpuBack: `from the end of that stream (${(awayMs / 1000).toFixed(1)} s after the drill began) until a new request was answered`,
      others: 'not compared: this drill does not touch Docker',
    },
  };
}

function checksOf(seen: SeenByClient, backMs: number | null, after: Found['after']): DrillCheck[] {
  const explicit = seen.end === 'whole' || seen.end === 'error';
  const how = seen.end === 'error' ? `by an explicit error (${seen.error?.code ?? ''})` : 'whole';
  return [
    {
      name: 'answer',
      ok: explicit,
      text: explicit
        ? `The stream ended ${how}.`
        : 'The stream was cut without an error: the controller was killed, or got less time to stop than shutdown.grace.',
    },
    {
      name: 'gpu_back',
      ok: backMs !== null,
      text:
        backMs === null
          ? 'Llamastead did not answer again in time.'
          : `A new request was answered ${(backMs / 1000).toFixed(1)} s later.`,
    },
    {
      name: 'failure',
      ok: after?.eventsKept === true,
      text:
        after?.eventsKept === true
          ? 'No event was lost or told twice.'
          : 'Events are missing after the restart.',
    },
  ];
}
