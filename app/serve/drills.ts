/** Drills, wired to the parts that they break and watch. */
import { randomBytes } from 'node:crypto';
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

const SLOTS_MS = 5_000;

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
    busySlots: (instance) => busySlots(containers, instance),
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

/** llama-server's own word on its slots. */
async function busySlots(containers: Pick<Containers, 'address'>, instance: string): Promise<number | null> {
  const address = containers.address(instance);
  if (address === undefined) return null;
  try {
    const answer = await fetch(`http://${address.host}:${address.port}/slots`, {
      headers: { authorization: `Bearer ${address.key}` },
      signal: AbortSignal.timeout(SLOTS_MS),
    });
    const slots: unknown = await answer.json();
    if (!answer.ok || !Array.isArray(slots)) return null;
    return slots.filter((slot: unknown) => isBusy(slot)).length;
  } catch {
    return null;
  }
}

function isBusy(slot: unknown): boolean {
  return typeof slot === 'object' && slot !== null && 'is_processing' in slot && slot.is_processing === true;
}
