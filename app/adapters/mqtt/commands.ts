/**
 * Commands as they come in on `set/<key>`: plain text, read by zod. Pure.
 */
import { z } from 'zod';
import { RUN_SCENARIOS, type RunScenario } from '../../core/drill.ts';
import type { Mode } from '../../core/types.ts';
import { IDLE_MAX } from './payloads.ts';

/** A command without its model: that is in the topic. */
export type Asked =
  | { readonly do: 'drill'; readonly scenario: RunScenario }
  | { readonly do: 'load' | 'unload' | 'restart' }
  | { readonly set: 'mode'; readonly value: Mode }
  | { readonly set: 'keep_loaded'; readonly value: boolean }
  /** Whole seconds; null: never. */
  | { readonly set: 'idle_unload'; readonly value: number | null }
  /** Bytes. */
  | { readonly set: 'ram_budget'; readonly value: number };

export type Parsed =
  | { readonly ok: true; readonly asked: Asked }
  | { readonly ok: false; readonly error: string };

interface Reader {
  /** Plain English, after "expected". */
  readonly expected: string;
  /** False: it has no meaning for one model alone. */
  readonly oneModel: boolean;
  readonly schema: z.ZodType<Asked, string>;
}

const GIB = 1024 ** 3;
/** Longer payloads are not read: no valid one is. */
const PAYLOAD_MAX = 64;

const press = (what: 'load' | 'unload' | 'restart'): Reader => ({
  expected: 'PRESS',
  oneModel: true,
  schema: z.literal('PRESS').transform(() => ({ do: what })),
});

/** `Number('')` is 0 and `Number('0x10')` is 16: neither is what a person meant. */
const decimal = z
  .string()
  .regex(/^\d{1,9}(\.\d{1,6})?$/)
  .transform(Number);

const READERS: Readonly<Record<string, Reader>> = {
  mode: {
    expected: 'one of auto, gpu, cpu, off',
    oneModel: true,
    schema: z.enum(['auto', 'gpu', 'cpu', 'off']).transform((value) => ({ set: 'mode', value })),
  },
  load: press('load'),
  unload: press('unload'),
  restart: press('restart'),
  drill: {
    expected: `PRESS (kill) or one of ${RUN_SCENARIOS.join(', ')}`,
    oneModel: true,
    schema: z
      .enum(['PRESS', ...RUN_SCENARIOS])
      .transform((word) => ({ do: 'drill', scenario: word === 'PRESS' ? 'kill' : word })),
  },
  keep_loaded: {
    expected: 'ON or OFF',
    oneModel: true,
    schema: z.enum(['ON', 'OFF']).transform((value) => ({ set: 'keep_loaded', value: value === 'ON' })),
  },
  idle_unload: {
    expected: `minutes from 0 (never) to ${IDLE_MAX}`,
    oneModel: true,
    schema: decimal.pipe(z.number().max(IDLE_MAX)).transform((minutes) => ({
      set: 'idle_unload',
      value: minutes === 0 ? null : Math.ceil(minutes * 60),
    })),
  },
  ram_budget: {
    expected: 'GiB, as in 6 or 7.5',
    oneModel: false,
    schema: decimal.transform((gib) => ({ set: 'ram_budget', value: Math.round(gib * GIB) })),
  },
};

/** What is asked, or an error that names the key, the value and what was expected. */
export function parseCommand(key: string, payload: string, forOneModel: boolean): Parsed {
  const reader = Object.hasOwn(READERS, key) ? READERS[key] : undefined;
  if (reader === undefined || (forOneModel && !reader.oneModel)) {
    const keys = Object.keys(READERS).filter((name) => !forOneModel || READERS[name]?.oneModel);
    return { ok: false, error: `unknown key ${shown(key)}: expected one of ${keys.join(', ')}` };
  }
  const text = payload.trim();
  const read = text.length > PAYLOAD_MAX ? null : reader.schema.safeParse(text);
  if (read?.success) return { ok: true, asked: read.data };
  return { ok: false, error: `${key}: got ${shown(payload)}, expected ${reader.expected}` };
}

/** A foreign text for an error: quoted and short. */
export function shown(text: string): string {
  return JSON.stringify(text.length > PAYLOAD_MAX ? `${text.slice(0, PAYLOAD_MAX)}…` : text);
}
