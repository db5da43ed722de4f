/** Llamastead in a container of its image, on a network of its own, as a NAS runs it: for what only a container shows. */
import { randomBytes } from 'node:crypto';
import { chmod, chown, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { View } from '../../../app/core/view.ts';
import { type Bench, ensureSelfImage } from '../../home/bench.ts';
import type { Defer } from '../../support/defer.ts';
import { until } from '../../support/until.ts';

export interface BoxedOptions {
  /** As Docker's `--volume` takes them. */
  readonly mounts: readonly string[];
  /** A number: the user and group that it runs as. */
  readonly user?: number;
  /** Laid over the bench's own. */
  readonly config?: Readonly<Record<string, unknown>>;
}

export interface Boxed {
  readonly url: string;
  readonly container: string;
  state(): Promise<View>;
  /** Codes of the problems that it shows. */
  problems(): Promise<readonly string[]>;
  readyz(): Promise<Readiness>;
  post(path: string): Promise<Response>;
}

export interface Readiness {
  readonly status: number;
  readonly text: string;
}

/** Resolves when its page can be had; whether it is ready is for the test to say. */
export async function startBoxed(
  bench: Bench,
  defer: Defer,
  name: string,
  options: BoxedOptions,
): Promise<Boxed> {
  const image = await ensureSelfImage(bench);
  const { run } = bench.docker;
  const folder = await mkdtemp(join(tmpdir(), `llamastead-${name}-`));
  defer(() => rm(folder, { recursive: true, force: true }));
  const user = options.user ?? 0;
  await writeConfig(bench, folder, name, user, options.config ?? {});
  const container = `llamastead-${name}-${randomBytes(3).toString('hex')}`;
  await run(['network', 'create', container]);
  defer(() => run(['network', 'rm', container]));
  defer(() => removeHome(bench, name));
  const mounts = [`${folder}/config:/config`, `${folder}/data:/data`, ...options.mounts];
  await run([
    ...[
      'run',
      '--detach',
      '--init',
      '--name',
      container,
      '--network',
      container,
      '--user',
      `${user}:${user}`,
    ],
    ...['--publish', '127.0.0.1::11535', ...mounts.flatMap((mount) => ['--volume', mount]), image],
  ]);
  defer(() => run(['rm', '--force', '--volumes', container]));
  // It takes its own instances away.
  defer(() => run(['stop', '--time', '60', container]));
  const url = `http://${(await run(['port', container, '11535'])).split('\n')[0]}`;
  await until(async () => (await fetch(`${url}/healthz`).catch(() => null))?.ok === true);
  const state = async () => (await (await fetch(`${url}/admin/state`)).json()) as View;
  return {
    url,
    container,
    state,
    problems: async () => (await state()).problems.map(({ code }) => code),
    async readyz() {
      const answer = await fetch(`${url}/readyz`);
      return { status: answer.status, text: await answer.text() };
    },
    post: (path) => fetch(`${url}${path}`, { method: 'POST' }),
  };
}

/** Its state folder belongs to whom it runs as. */
async function writeConfig(
  bench: Bench,
  folder: string,
  name: string,
  user: number,
  over: Readonly<Record<string, unknown>>,
): Promise<void> {
  await chmod(folder, 0o755);
  await mkdir(join(folder, 'config'));
  await mkdir(join(folder, 'data'));
  await chown(join(folder, 'data'), user, user);
  const config = { images: { ...bench.images }, gpus: [], mqtt: { instance: name }, ...over };
  await writeFile(join(folder, 'config/llamastead.yaml'), stringify(config), { mode: 0o644 });
}

/** What a controller that was killed leaves. */
async function removeHome({ docker }: Bench, name: string): Promise<void> {
  const ids = await docker.run([
    'ps',
    '--all',
    '--quiet',
    '--filter',
    `label=io.llamastead.instance=${name}`,
  ]);
  if (ids !== '') await docker.run(['rm', '--force', ...ids.split('\n')]);
}
