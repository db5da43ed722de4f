/** The report of a drill that the controller cannot run by itself, since it is what is restarted. */
import { z } from 'zod';
import { DRILL_VERDICTS } from '../../../core/drill.ts';
import type { DrillReport } from '../../../core/drill-report.ts';

const Text = z.string().max(4_000);
const Name = z.string().min(1).max(200);
const Seconds = z.number().min(0);
const Verdict = z.enum(DRILL_VERDICTS);

const Check = z.strictObject({
  name: z.enum(['answer', 'gpu_back', 'failure']),
  ok: z.boolean(),
  text: Text,
});

const Round = z.strictObject({
  stream: z.boolean(),
  verdict: Verdict,
  why: Text,
  outcome: z.enum(['undisturbed', 'error', 'broken']),
  requests: z.int().min(1),
  firstFailure: Seconds.nullable(),
  reason: z.null(),
  from: z.null(),
  to: z.null(),
  cpuStart: z.null(),
  firstToken: Seconds.nullable(),
  answered: Seconds.nullable(),
  complete: z.boolean(),
  connectionKept: z.boolean(),
  attempts: z.int().min(0).nullable(),
  idKept: z.boolean(),
  toolCalls: z.int().min(0),
  gpuBack: Seconds.nullable(),
  checks: z.array(Check).max(10),
});

/** Strict, and bounded: the page shows it, and it is kept. */
export const OutsideReport = z.strictObject({
  id: z.string().regex(/^[0-9a-f]{8}$/, { error: 'eight hexadecimal digits' }),
  scenario: z.literal('controller-restart', {
    error: 'controller-restart: the other drills report by themselves',
  }),
  model: Name,
  startedAt: z.iso.datetime(),
  seconds: Seconds,
  verdict: Verdict,
  why: Text,
  rounds: z.array(Round).max(2),
  others: z.strictObject({
    compared: z.literal(0),
    untouched: z.literal(true),
    changed: z.tuple([]),
  }),
  memoryLow: z.null(),
  measured: z.record(Name, Text),
}) satisfies z.ZodType<DrillReport>;
