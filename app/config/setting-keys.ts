/**
 * What may be set from the page or from Home Assistant. A key is the configuration's own path with dots
 * (`memory.budget`, `models.chat.idleUnload`). What could run other code or read other files (images,
 * engines, paths, devices, model env) is not among them.
 */
import { z } from 'zod';
import { nearest } from '../core/nearest.ts';
import { MODES, type Mode } from '../core/types.ts';
import { choice, durationOr, wholeNumber, yesNo } from './leaves.ts';
import { schedulesSchema } from './schema-outside.ts';
import {
  failoverSchema,
  logSchema,
  memorySchema,
  promptStateSchema,
  queueSchema,
  shutdownSchema,
} from './schema-service.ts';
import { formatDuration, formatSize } from './units.ts';

/** `duration` also takes seconds, `size` bytes, as numbers: the units of `/admin/state`. */
type Kind = 'duration' | 'size' | 'plain';

interface SettingForm {
  readonly kind: Kind;
  readonly schema: z.ZodType;
}

const plain = (schema: z.ZodType): SettingForm => ({ kind: 'plain', schema });
const lasting = (schema: z.ZodType): SettingForm => ({ kind: 'duration', schema });
const sized = (schema: z.ZodType): SettingForm => ({ kind: 'size', schema });

const memory = memorySchema.unwrap().shape;
const queue = queueSchema.unwrap().shape;
const failover = failoverSchema.unwrap().shape;
const promptState = promptStateSchema.unwrap().shape;
const shutdown = shutdownSchema.unwrap().shape;

const GLOBAL: Readonly<Record<string, SettingForm>> = {
  language: plain(choice(['auto', 'en', 'ko', 'zh'])),
  'memory.reserve': sized(memory.reserve),
  'memory.budget': sized(memory.budget),
  'queue.depth': plain(queue.depth),
  'queue.deadline': lasting(queue.deadline),
  'failover.resume': plain(failover.resume),
  'failover.firstToken': lasting(failover.firstToken),
  'failover.stall': lasting(failover.stall),
  'failover.silence': lasting(failover.silence),
  'failover.returnAfter': lasting(failover.returnAfter),
  'failover.streamKeepalive': lasting(failover.streamKeepalive),
  'promptState.keep': plain(promptState.keep),
  'promptState.size': sized(promptState.size),
  'promptState.maxAge': lasting(promptState.maxAge),
  'promptState.writesPerDay': sized(promptState.writesPerDay),
  'shutdown.instances': plain(shutdown.instances),
  'shutdown.grace': lasting(shutdown.grace),
  schedules: plain(schedulesSchema),
  'log.level': plain(logSchema.unwrap().shape.level),
};

const MODEL: Readonly<Record<string, SettingForm>> = {
  mode: plain(z.enum(MODES as [Mode, ...Mode[]], { error: `one of ${MODES.join(', ')}` })),
  keepLoaded: plain(yesNo()),
  idleUnload: lasting(durationOr('never')),
  context: plain(wholeNumber(128, 10_485_760)),
  parallel: plain(wholeNumber(1, 64)),
};

export const GLOBAL_SETTINGS = Object.keys(GLOBAL);
export const MODEL_SETTINGS = Object.keys(MODEL);

export interface CheckedSetting {
  /** The full key. */
  readonly key: string;
  /** As it is kept in settings.json: in the notation of the configuration file. */
  readonly written: unknown;
  /** Milliseconds, bytes, or the plain value. */
  readonly value: unknown;
}

/** `models.chat.mode` -> its model and key; null for a key that is not of a model. Names may have dots. */
export function modelKey(key: string): { readonly model: string; readonly key: string } | null {
  const match = /^models\.(.+)\.([^.]+)$/.exec(key);
  return match?.[1] === undefined || match[2] === undefined ? null : { model: match[1], key: match[2] };
}

function formOf(key: string): SettingForm | undefined {
  const ofModel = modelKey(key);
  const forms = ofModel === null ? GLOBAL : MODEL;
  const name = ofModel === null ? key : ofModel.key;
  return Object.hasOwn(forms, name) ? forms[name] : undefined;
}

/** Checks one setting; otherwise what was expected. */
export function checkSetting(key: string, input: unknown): CheckedSetting | { readonly expected: string } {
  const form = formOf(key);
  if (form === undefined) return { expected: unknownKey(key) };
  if (input === undefined) return { expected: 'a value' };
  const written = notation(form.kind, input);
  const parsed = form.schema.safeParse(written);
  if (!parsed.success) return { expected: parsed.error.issues[0]?.message ?? 'another value' };
  return { key, written: plainNotation(form.kind, written, parsed.data), value: parsed.data };
}

/** `10m` rather than `600000ms`. */
function plainNotation(kind: Kind, written: unknown, value: unknown): unknown {
  if (typeof value !== 'number') return written;
  if (kind === 'duration') return formatDuration(value);
  return kind === 'size' ? formatSize(value) : written;
}

function unknownKey(key: string): string {
  const ofModel = modelKey(key);
  const known = ofModel === null ? GLOBAL_SETTINGS : MODEL_SETTINGS;
  const near = nearest(ofModel === null ? key : ofModel.key, known);
  const names = ofModel === null ? [...known, ...MODEL_SETTINGS.map((name) => `models.NAME.${name}`)] : known;
  return `${near === null ? '' : `${near}, or `}one of ${names.join(', ')}`;
}

/** Numbers become the notation of the file: `600s` of 600 seconds; null is `never`. */
function notation(kind: Kind, input: unknown): unknown {
  if (kind === 'plain') return input;
  if (kind === 'duration' && input === null) return 'never';
  if (typeof input !== 'number' || !Number.isFinite(input) || input < 0) return input;
  return kind === 'size' ? `${Math.round(input)}B` : `${Math.round(input * 1000)}ms`;
}

/** A value as the admin API shows it: durations in seconds, sizes in bytes, words as they are. */
export function shownSetting(key: string, value: unknown): unknown {
  return formOf(key)?.kind === 'duration' && typeof value === 'number' ? value / 1000 : value;
}
