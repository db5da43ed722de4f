/**
 * Commands for one model: load, unload, restart, mode, keep loaded.
 */
import type { Request, RequestHandler, Response, Router } from 'express';
import { z } from 'zod';
import type { Command, CommandResult } from '../../../core/request.ts';
import { MODES } from '../../../core/types.ts';
import { AppError } from '../../../errors.ts';
import type { Clock, Gate, Settings } from '../../../ports.ts';
import { sendError } from '../errors.ts';
import { requestIdOf } from '../forward/headers.ts';
import { hint } from './hint.ts';
import { route } from './routes.ts';
import { queryFlag, read } from './validate.ts';

/** Longest wait of `?wait=1`, ms: a first load may have to get an image. */
const LONGEST_WAIT_MS = 30 * 60_000;

const Nothing = z.strictObject({});
const WaitQuery = z.strictObject({ wait: queryFlag.optional() });
const ModeBody = z.strictObject({ mode: z.enum(MODES as [string, ...string[]]) });
const KeepLoadedBody = z.strictObject({ on: z.boolean() });

export interface ModelRoutesOptions {
  readonly gate: Gate;
  readonly settings: Settings;
  readonly clock: Clock;
}

/** Adds `/models/:model/...`. */
export function modelRoutes(router: Router, options: ModelRoutesOptions): void {
  for (const verb of ['load', 'unload', 'restart'] as const) {
    route(router, `/models/:model/${verb}`, { post: commandRoute(options, verb) });
  }
  const setting = (key: string, value: (body: unknown) => unknown): { post: RequestHandler } => ({
    async post(req, res) {
      const { wait } = read(WaitQuery, req.query, 'query');
      const model = resolve(options.gate, req);
      await options.settings.set(`models.${model}.${key}`, value(req.body));
      res.status(wait ? 200 : 202).json({ seq: options.gate.view().seq });
    },
  });
  route(
    router,
    '/models/:model/mode',
    setting('mode', (body) => read(ModeBody, body, 'body').mode),
  );
  route(
    router,
    '/models/:model/keep-loaded',
    setting('keepLoaded', (body) => read(KeepLoadedBody, body, 'body').on),
  );
}

function commandRoute(options: ModelRoutesOptions, verb: Command['do']): RequestHandler {
  return async (req, res) => {
    const { wait } = read(WaitQuery, req.query, 'query');
    read(Nothing, req.body === undefined ? {} : req.body, 'body');
    const { accepted, done } = options.gate.command({ do: verb, model: resolve(options.gate, req) });
    if (!wait) {
      res.status(202).json({ seq: accepted });
      return;
    }
    const result = await bounded(options.clock, done, res);
    if (result === 'client_gone') return;
    if (result.ok) res.status(200).json({ seq: options.gate.view().seq });
    else sendError(res, result.code, result.message, requestIdOf(req.headers));
  };
}

/** The result, or an error of ours when it takes too long; the command itself goes on. */
async function bounded(
  clock: Clock,
  done: Promise<CommandResult>,
  res: Response,
): Promise<CommandResult | 'client_gone'> {
  const late: CommandResult = {
    ok: false,
    code: 'deadline',
    message: 'It still goes on after 30 minutes; /admin/state shows how far it is.',
  };
  let cancel = (): void => {};
  const timeout = new Promise<CommandResult | 'client_gone'>((resolve) => {
    cancel = clock.at(clock.now().mono + LONGEST_WAIT_MS, () => resolve(late));
    res.once('close', () => resolve('client_gone'));
  });
  try {
    return await Promise.race([done, timeout]);
  } finally {
    cancel();
  }
}

/**
 * The configured name that a name or alias in the path stands for.
 * @throws AppError `unknown_model`
 */
function resolve(gate: Gate, req: Request): string {
  const asked = String(req.params['model'] ?? '');
  const { models } = gate.view();
  const found =
    models.find(({ name }) => name === asked) ?? models.find(({ aliases }) => aliases.includes(asked));
  if (found !== undefined) return found.name;
  const names = models.flatMap(({ name, aliases }) => [name, ...aliases]);
  const shown = JSON.stringify(asked.slice(0, 100));
  throw new AppError('unknown_model', `There is no model ${shown}.${hint(asked, names)}`);
}
