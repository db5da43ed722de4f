/** One life of the container that reads the NVIDIA cards' memory: made, followed to its end, removed. */
import { randomBytes } from 'node:crypto';
import type { Readable } from 'node:stream';
import type { CardMemory } from '../../core/types.ts';
import type { Clock } from '../../ports.ts';
import type { DockerApi } from './api.ts';
import { meterOptions } from './container-spec.ts';
import { dockerError, isTimeOut, isUnreachable } from './docker-error.ts';
import { imageMissing } from './engine-problem.ts';
import type { GpuAccess } from './gpu-access.ts';
import type { Guarded } from './guarded.ts';
import { LABELS, type Owner } from './names.ts';
import { SMI_EACH, smiLine } from './nvidia-smi.ts';
import { alarm } from './pause.ts';

/** The driver of a card that nobody uses takes seconds to begin. */
const FIRST_MS = 30_000;
const SILENT_MS = 5 * SMI_EACH;
/** So often a card has said that it will not tell. */
const SURE = 3;
const LONGEST_LINE = 1_000;

export interface MeterParts {
  readonly owner: Owner;
  readonly api: Pick<DockerApi, 'attach' | 'hasImage' | 'list'>;
  readonly change: Pick<Guarded, 'create' | 'start' | 'remove'>;
  readonly clock: Clock;
  readonly access: GpuAccess;
}

export type MeterEnd =
  /** By the signal. */
  | { readonly kind: 'stopped' }
  /** The engine does not answer. */
  | { readonly kind: 'away' }
  | { readonly kind: 'no_image' }
  /** Docker has no way to these cards until it is set up and started again. */
  | { readonly kind: 'no_access'; readonly detail: string }
  /** No card will tell. */
  | { readonly kind: 'untold'; readonly detail: string }
  /** `read`: for so long it gave readings (ms). */
  | { readonly kind: 'failed'; readonly detail: string; readonly read: number };

/** Resolves at its end; never rejects. */
export async function meterRun(
  parts: MeterParts,
  image: string,
  signal: AbortSignal,
  onCard: (pci: string, memory: CardMemory) => void,
): Promise<MeterEnd> {
  const { owner, api, change, access } = parts;
  let container: string | null = null;
  let output: Readable | null = null;
  try {
    await removeMeters(parts);
    if (!(await api.hasImage(image))) return { kind: 'no_image' };
    const random = randomBytes(3).toString('hex');
    container = await change.create(meterOptions(owner, image, access, random));
    output = await api.attach(container);
    const ended = followed(parts.clock, output, signal, onCard);
    await change.start(container);
    return await ended;
  } catch (thrown) {
    return endBy(thrown, owner.engine);
  } finally {
    output?.destroy();
    // What is not removed now is so before the next one.
    if (container !== null) await change.remove(container).catch(() => undefined);
  }
}

/** Those of this home on this engine: left by a crash, or by a removal that failed. Throws Docker's error. */
async function removeMeters({ owner, api, change }: MeterParts): Promise<void> {
  const labels = [
    `${LABELS.owner}=${owner.owner}`,
    `${LABELS.role}=probe`,
    `${LABELS.engine}=${owner.engine}`,
  ];
  for (const { Id } of await api.list({ all: true, labels })) await change.remove(Id);
}

function endBy(thrown: unknown, engine: string): MeterEnd {
  const error = dockerError(thrown);
  // A card that hangs holds up its container's start, in an engine that is well.
  if (isUnreachable(error) && !isTimeOut(error)) return { kind: 'away' };
  if (imageMissing(error, engine) !== null) return { kind: 'no_image' };
  const detail = error.message;
  if (/could not select device driver|unresolvable CDI devices/i.test(detail)) {
    return { kind: 'no_access', detail };
  }
  return { kind: 'failed', detail, read: 0 };
}

function followed(
  clock: Clock,
  output: Readable,
  signal: AbortSignal,
  onCard: (pci: string, memory: CardMemory) => void,
): Promise<MeterEnd> {
  const { promise, resolve } = Promise.withResolvers<MeterEnd>();
  const said = { trouble: null as string | null, first: null as number | null, last: 0 };
  const untold = new Map<string, number>();
  const fail = (otherwise: string): void => {
    const read = said.first === null ? 0 : said.last - said.first;
    resolve({ kind: 'failed', detail: said.trouble ?? otherwise, read });
  };
  const silence = alarm(clock, () => fail('it gives no reading'));
  const stop = (): void => resolve({ kind: 'stopped' });

  function take(text: string): void {
    const line = smiLine(text);
    if (line?.kind === 'trouble') said.trouble = line.text;
    if (line?.kind === 'untold') {
      said.trouble = `${line.pci}: ${line.why}`;
      const times = (untold.get(line.pci) ?? 0) + 1;
      untold.set(line.pci, times);
      if (line.never && said.first === null && times === SURE) {
        resolve({ kind: 'untold', detail: said.trouble });
      }
    }
    if (line?.kind !== 'card') return;
    said.trouble = null;
    said.last = clock.now().mono;
    said.first ??= said.last;
    silence.arm(SILENT_MS);
    onCard(line.pci, line.memory);
  }

  output.setEncoding('utf8');
  output.on('data', linesOf(take));
  output.on('error', () => undefined);
  output.on('close', () => fail('it ended'));
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  silence.arm(FIRST_MS);
  return promise.finally(() => {
    silence.cancel();
    signal.removeEventListener('abort', stop);
  });
}

function linesOf(take: (line: string) => void): (chunk: string) => void {
  let rest = '';
  return (chunk) => {
    const lines = (rest + chunk).split('\n');
    rest = (lines.pop() ?? '').slice(0, LONGEST_LINE);
    for (const line of lines) take(line.slice(0, LONGEST_LINE));
  };
}
