/**
 * What a home of the same name left behind whose state was lost: it carries another owner, so it is not ours to
 * remove.
 */
import type { Problem } from '../../core/types.ts';
import type { DockerApi } from './api.ts';
import { isNetworkOf, LABELS, type Owner } from './names.ts';

/** Names in a problem's text; a home has a few. */
const MOST_NAMES = 10;

/** Null where there is none. Throws Docker's error. */
export async function leftoversOf(api: DockerApi, { home, owner, engine }: Owner): Promise<Problem | null> {
  const notOurs = (labels: Readonly<Record<string, string>>) => labels[LABELS.owner] !== owner;
  const containers = (await api.list({ all: true, labels: [`${LABELS.home}=${home}`] }))
    .filter(({ Labels }) => notOurs(Labels))
    .map(({ Id, Names }) => Names[0] ?? Id.slice(0, 12));
  const networks = (await api.networksOf(`${LABELS.home}=${home}`))
    .filter(({ Name, Labels }) => isNetworkOf(home, Name) && notOurs(Labels))
    .map(({ Name }) => Name);
  return containers.length + networks.length === 0 ? null : problem(home, engine, containers, networks);
}

function problem(
  home: string,
  engine: string,
  containers: readonly string[],
  networks: readonly string[],
): Problem {
  const names = [...containers, ...networks].slice(0, MOST_NAMES).join(', ');
  const commands = [
    ...(containers.length === 0 ? [] : [`docker rm -f ${containers.slice(0, MOST_NAMES).join(' ')}`]),
    ...(networks.length === 0 ? [] : [`docker network rm ${networks.slice(0, MOST_NAMES).join(' ')}`]),
  ].join(' && ');
  return {
    code: 'leftovers_found',
    text: `The Docker engine "${engine}" holds parts of another Llamastead named "${home}" that does not run, or whose state folder was lost: ${names}. They are left alone, and take memory where they run.`,
    fix: `Where nobody needs them, remove them: ${commands}`,
    params: { engine, home, names, commands },
  };
}
