/** Drills, wired to the parts that they break and watch. */
import { randomBytes } from 'node:crypto';
import { busySlots } from '../adapters/docker/busy-slots.ts';
import type { Input } from '../core/inputs.ts';
import { openArchive } from '../inspect/drill/archive.ts';
import { drillClient } from '../inspect/drill/client.ts';
import type { ArmedFault } from '../inspect/drill/faulty-starts.ts';
import { type DrillParts, LIMITS } from '../inspect/drill/parts.ts';
import { drillRunner } from '../inspect/drill/runner.ts';
import type { Log } from '../log.ts';
import type { Loop } from '../loop.ts';
import type { Drills } from '../ports/drills.ts';
import type { Clock, Containers, EventLog, Gate, Host, JsonFile } from '../ports.ts';

export interface DrillsParts {
  readonly file: JsonFile;
  readonly loop: Loop;
  readonly gate: Gate;
  readonly events: EventLog;
  readonly containers: Containers;
  readonly arm: (fault: ArmedFault | null) => void;
  readonly host: Host;
  /** Our own address, from where a client would ask. */
  readonly url: () => string;
  /** A key of the model API; null: it is open. */
  readonly key: () => string | null;
  readonly clock: Clock;
  readonly log: Log;
}

export interface DrillEdge {
  readonly drills: Drills;
  /** Whether this is the mark of the drill that runs. */
  isOurs(mark: string): boolean;
}

export async function drillEdge(parts: DrillsParts): Promise<DrillEdge> {
  const { loop, gate, containers, clock } = parts;
  const submit: (input: Input) => void = loop.submit;
  let mark: string | null = null;
  const archive = await openArchive(parts.file, (text) => parts.log.logger.warn(text));
  const runner: DrillParts = {
    state: loop.state,
    onTurn: loop.onTurn,
    submit,
    command: (command) => gate.command(command).done,
    subscribe: parts.events.subscribe,
    containers,
    async busySlots(instance) {
      const address = containers.address(instance);
      return address === undefined ? null : busySlots(address);
    },
    begin(run) {
      mark = run.mark;
      submit({ type: 'drill_began', id: run.id, scenario: run.name, model: run.model });
    },
    end(ending) {
      mark = null;
      submit({ type: 'drill_ended', ...ending });
    },
    arm: parts.arm,
    sample: parts.host.sample,
    send: drillClient({ url: parts.url, key: parts.key, clock }),
    random: () => randomBytes(18).toString('hex'),
    iso: (wall) => new Date(wall).toISOString(),
    clock,
    limits: LIMITS,
  };
  return { drills: drillRunner(runner, archive), isOurs: (given) => mark !== null && given === mark };
}
