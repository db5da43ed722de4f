/** The whole configuration file as one strict schema; every key has a default. */
import { z } from 'zod';
import { choice, text } from './leaves.ts';
import { enginesSchema, gpusSchema, imagesSchema } from './schema-machine.ts';
import { modelsSchema } from './schema-models.ts';
import { mqttSchema, schedulesSchema } from './schema-outside.ts';
import {
  failoverSchema,
  listenSchema,
  logSchema,
  memorySchema,
  pathsSchema,
  promptStateSchema,
  queueSchema,
  securitySchema,
  shutdownSchema,
} from './schema-service.ts';

const TIMEZONE = 'auto, or a zone such as Asia/Seoul';

export const fileSchema = z.strictObject(
  {
    listen: listenSchema,
    security: securitySchema,
    paths: pathsSchema,
    network: text('auto, or the name of a Docker network', /^[\w.-]+$/)
      .default('auto')
      .meta({ description: 'Docker network of the instances; `auto`: our own.' }),
    language: choice(['auto', 'en', 'ko', 'zh'])
      .default('auto')
      .meta({ description: "Language of the page; `auto`: the browser's." }),
    timezone: text(TIMEZONE)
      .refine(isZone, { error: TIMEZONE })
      .default('auto')
      .meta({ description: 'Time zone of schedules; `auto`: TZ, else that of the machine.' }),
    engines: enginesSchema,
    images: imagesSchema,
    gpus: gpusSchema,
    models: modelsSchema,
    memory: memorySchema,
    queue: queueSchema,
    failover: failoverSchema,
    promptState: promptStateSchema,
    shutdown: shutdownSchema,
    mqtt: mqttSchema,
    schedules: schedulesSchema,
    log: logSchema,
  },
  { error: 'a list of keys, such as listen: or models:' },
);

/** The file's content with defaults, sizes in bytes, durations in milliseconds; secrets not yet read. */
export type FileConfig = z.output<typeof fileSchema>;

function isZone(zone: string): boolean {
  if (zone === 'auto') return true;
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone });
    return true;
  } catch {
    return false;
  }
}

/** JSON schema of `llamastead.yaml`, for editors. */
export function configJsonSchema(): Record<string, unknown> {
  return z.toJSONSchema(fileSchema, { io: 'input', reused: 'inline' });
}
