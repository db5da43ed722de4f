/**
 * What the publisher keeps over a restart, so that no event is told twice and no entity stays behind.
 */
import type { Logger } from 'pino';
import { z } from 'zod';
import type { Clock, JsonFile } from '../../ports.ts';
import { pace } from './pace.ts';

/** What has to outlive a restart. */
export interface MqttMemory {
  /** Number of the last event that the broker took. */
  readonly told: number;
  /** Devices announced to Home Assistant: discovery topic -> component key -> platform. */
  readonly announced: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/** Where it is kept: a document of its own. */
export type MemoryFile = Pick<JsonFile, 'read' | 'write'>;

/** The memory in use; changes are saved at most once a second. */
export interface KeptMemory {
  read(): MqttMemory;
  change(part: Partial<MqttMemory>): void;
  /** Saves what is not saved yet. */
  flush(): Promise<void>;
}

const SAVE_EVERY = 1_000;

const memorySchema = z.object({
  told: z.int().nonnegative(),
  announced: z.record(z.string(), z.record(z.string(), z.string())),
});

/**
 * Without a readable one nothing before `newest` is told: an old event that fires again is worse than one
 * that is left out. A number above it belongs to a log that is gone.
 */
export async function keptMemory(
  file: MemoryFile,
  newest: number,
  clock: Clock,
  log: Logger,
): Promise<KeptMemory> {
  const content = await file.read();
  const loaded = memorySchema.safeParse(content.found === 'data' ? content.data : null);
  let memory: MqttMemory = loaded.success ? loaded.data : { told: newest, announced: {} };
  if (memory.told > newest) memory = { ...memory, told: newest };
  let saved = memory;
  let saving = Promise.resolve();
  const save = () => {
    saving = saving.then(async () => {
      const wanted = memory;
      if (wanted === saved) return;
      try {
        await file.write(wanted);
        saved = wanted;
      } catch (error) {
        log.warn({ error }, 'MQTT: the position in the events could not be saved');
      }
    });
    return saving;
  };
  const saves = pace(clock, SAVE_EVERY, () => void save());
  return {
    read: () => memory,
    change(part) {
      memory = { ...memory, ...part };
      saves.ask();
    },
    flush() {
      saves.stop();
      return save();
    },
  };
}
