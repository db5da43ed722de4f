/**
 * The Containers port on Docker: llama-server containers of one home on one or more engines.
 */
import { AppError } from '../../errors.ts';
import type { Containers, ContainersInput } from '../../ports.ts';
import type { EngineContainers } from './engine.ts';
import { engineContainers } from './engine.ts';
import type { DockerOptions } from './options.ts';
import { notStarted } from './registry.ts';

export type { DockerOptions, EngineConfig, Log, Timing } from './options.ts';
export { refuseSecond } from './presence.ts';

/** Makes the port; nothing is touched before `open`. */
export function dockerContainers(options: DockerOptions): Containers {
  let report: (input: ContainersInput) => void = () => undefined;
  const engines = new Map<string, EngineContainers>();
  for (const [name, config] of Object.entries(options.engines)) {
    engines.set(
      name,
      engineContainers(name, config, options, (input) => report(input)),
    );
  }
  const having = (instance: string) => [...engines.values()].find((engine) => engine.has(instance));
  const noEngine = (name: string) => notStarted(`there is no engine named ${name}`);

  return {
    async open(told) {
      report = told;
      await Promise.all([...engines.values()].map((engine) => engine.open()));
    },
    async start(plan) {
      const name = plan.profile.engine;
      return (await engines.get(name)?.start(plan)) ?? { ok: false, evidence: noEngine(name) };
    },
    async adopt(instance, container, profile, model) {
      const engine = engines.get(profile.engine);
      const result = await engine?.adopt(instance, container, profile, model);
      return result ?? { ok: false, evidence: noEngine(profile.engine) };
    },
    address: (instance) => having(instance)?.address(instance),
    async examine(instance) {
      return (await having(instance)?.examine(instance)) ?? notStarted('no such instance');
    },
    async remove(instance, how) {
      await having(instance)?.remove(instance, how);
    },
    async removeContainer(name, container) {
      const engine = engines.get(name);
      if (engine === undefined) throw new AppError('unknown_engine', `there is no engine named ${name}`);
      await engine.removeContainer(name, container);
    },
    async harm(instance, how) {
      const engine = having(instance);
      if (engine === undefined) throw new AppError('not_possible', 'there is no such instance');
      await engine.harm(instance, how);
    },
    async others() {
      return (await Promise.all([...engines.values()].map((engine) => engine.others()))).flat();
    },
    devices: [...engines.values()].flatMap(({ devices }) => devices),
    async servicesMemory() {
      const sums = await Promise.all([...engines.values()].map((engine) => engine.servicesMemory()));
      return sums.reduce<number | null>((sum, it) => (sum === null || it === null ? null : sum + it), 0);
    },
    async close(how) {
      await Promise.all([...engines.values()].map((engine) => engine.close(how)));
    },
  };
}
