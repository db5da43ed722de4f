/** `llamastead drill`: says what will stop, asks, runs it, prints the report. */
import { z } from 'zod';
import { DRILL_SCENARIOS, DRILL_VERDICTS, type DrillScenario } from '../core/drill.ts';
import type { DrillReport } from '../core/drill-report.ts';
import { AppError } from '../errors.ts';
import { SCENARIOS } from '../inspect/drill/scenarios.ts';
import { askAdmin } from './ask.ts';
import { restartDrill } from './restart-drill.ts';

export interface DrillCommand {
  readonly scenario: DrillScenario;
  readonly model: string | null;
  readonly yes: boolean;
  /** Restarts the controller, for `controller-restart`; null: the person does it. */
  readonly restart: string | null;
}

export interface DrillWorld {
  /** Null: there is nobody to ask. */
  readonly confirm: ((question: string) => Promise<boolean>) | null;
  /** Runs a line of the shell; resolves with its exit code. */
  readonly run: (command: string) => Promise<number>;
  readonly apiKey: string | null;
  /** For people, beside the report. */
  readonly say: (text: string) => void;
}

export interface Controller {
  readonly url: string;
  readonly token: string | null;
}

/** The fields of `/admin/state` that matter here. */
const State = z.object({
  models: z.array(z.object({ name: z.string(), aliases: z.array(z.string()) })),
  leases: z.number(),
  queue: z.number(),
});

const Report = z.looseObject({
  scenario: z.enum(DRILL_SCENARIOS),
  model: z.string(),
  verdict: z.enum(DRILL_VERDICTS),
  why: z.string(),
  rounds: z.array(z.looseObject({})),
});

/** Null: it was not wanted. Rejects with AppError `wrong_use`, or what the controller says. */
export async function runDrill(
  command: DrillCommand,
  controller: Controller,
  world: DrillWorld,
): Promise<DrillReport | null> {
  const { scenario } = command;
  const { url, token } = controller;
  const read = State.safeParse(await askAdmin(url, token, '/admin/state'));
  if (!read.success) throw new AppError('not_llamastead', `${url} answers, but not as Llamastead does`);
  const model = modelOf(read.data.models, command.model);
  world.say(`${question(scenario, model)}\n`);
  if (!command.yes) {
    if (world.confirm === null)
      throw new AppError('wrong_use', 'nobody can be asked here: give --yes to run the drill');
    if (!(await world.confirm('Run the drill? [y/N] '))) return null;
  }
  if (scenario === 'controller-restart') {
    const report = await restartDrill(command.restart, model, controller, world);
    await keep(report, controller, world);
    return report;
  }
  const report = Report.safeParse(await askAdmin(url, token, '/admin/drill', { scenario, model }));
  if (!report.success) throw new AppError('not_llamastead', `${url} sent no report of a drill`);
  return report.data as unknown as DrillReport;
}

/** Beside those that the controller made itself; where that fails the person has it all the same. */
async function keep(report: DrillReport, { url, token }: Controller, { say }: DrillWorld): Promise<void> {
  try {
    await askAdmin(url, token, '/admin/drills', report);
  } catch (thrown) {
    say(`The report is not kept: ${AppError.from(thrown).message}\n`);
  }
}

function question(scenario: DrillScenario, model: string): string {
  if (scenario !== 'controller-restart')
    return `${SCENARIOS[scenario].stops(model)} It waits until nobody uses ${model}; others' requests then wait for a moment.`;
  return `Llamastead is restarted while it answers a request to ${model}; every other request ends with it.`;
}

/** Throws AppError `wrong_use`, `unknown_model`. */
function modelOf(models: z.output<typeof State>['models'], asked: string | null): string {
  const names = models.map(({ name }) => name).join(', ');
  if (asked === null) {
    const [only, ...more] = models;
    if (only !== undefined && more.length === 0) return only.name;
    throw new AppError('wrong_use', `which model? Give --model with one of: ${names || 'there is none'}`);
  }
  const found = models.find(({ name, aliases }) => name === asked || aliases.includes(asked));
  if (found === undefined)
    throw new AppError('unknown_model', `there is no model ${asked}; there are: ${names}`);
  return found.name;
}
