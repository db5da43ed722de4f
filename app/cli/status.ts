/** `llamastead status`: asks a running controller and tells in words what it does. */
import { z } from 'zod';
import { AppError } from '../errors.ts';

/** The fields of `/admin/state` that are told. */
const State = z.object({
  version: z.string(),
  seq: z.number(),
  models: z.array(
    z.object({
      name: z.string(),
      status: z.string(),
      placement: z.string(),
      mode: z.string(),
      placements: z.array(z.string()),
      lastError: z.string().nullable().optional(),
    }),
  ),
  leases: z.number(),
  queue: z.number(),
  memory: z
    .object({
      total: z.number(),
      available: z.number(),
      reserve: z.number(),
      budget: z.number(),
      models: z.number(),
    })
    .nullable(),
  problems: z.array(z.object({ code: z.string(), text: z.string(), fix: z.string() })),
});

type State = z.output<typeof State>;

export interface StatusAnswer {
  /** The snapshot as it came, for `--json`. */
  readonly raw: unknown;
  readonly state: State;
}

/** Rejects with AppError: `unreachable`, `unauthorized`, `not_llamastead`. */
export async function askState(
  fetch: typeof globalThis.fetch,
  url: string,
  token: string | null,
): Promise<StatusAnswer> {
  const target = new URL('/admin/state', url);
  let answer: Response;
  try {
    answer = await fetch(target, {
      headers: token === null ? {} : { authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(10_000),
    });
  } catch (thrown) {
    throw new AppError('unreachable', `nothing answers at ${url}: is Llamastead running there?`, {
      cause: thrown,
    });
  }
  if (answer.status === 401)
    throw new AppError('unauthorized', `${url} wants its admin token: give it by --token`);
  const raw: unknown = await answer.json().catch(() => undefined);
  const state = State.safeParse(raw);
  if (!answer.ok || !state.success) {
    throw new AppError('not_llamastead', `${url} answered ${answer.status}, but not as Llamastead does`);
  }
  return { raw, state: state.data };
}

/** Lines for people. */
export function statusLines(state: State): string[] {
  const models = state.models.map((model) => {
    const where = model.placement === 'none' ? '' : ` on ${model.placement}`;
    const mode = model.mode === 'auto' ? '' : `, mode ${model.mode}`;
    const error = model.lastError == null ? '' : `, last error: ${model.lastError}`;
    return `  ${model.name}: ${model.status}${where}${mode}${error}`;
  });
  return [
    `Llamastead ${state.version}: ${state.leases} running, ${state.queue} waiting`,
    ...(models.length === 0 ? ['No models.'] : ['Models:', ...models]),
    ...(state.memory === null ? [] : [memoryLine(state.memory)]),
    ...(state.problems.length === 0 ? ['No problems.'] : ['Problems:']),
    ...state.problems.flatMap((problem) => [`  ${problem.text}`, `    ${problem.fix}`]),
  ];
}

function memoryLine(memory: NonNullable<State['memory']>): string {
  const gib = (bytes: number) => `${(bytes / 2 ** 30).toFixed(1)} GiB`;
  return `Memory: models take ${gib(memory.models)} of ${gib(memory.budget)}; ${gib(memory.available)} of ${gib(memory.total)} are free, ${gib(memory.reserve)} reserved`;
}
