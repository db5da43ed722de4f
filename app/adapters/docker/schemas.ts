/**
 * What is read of Docker's answers: only the fields that are used. Docker's Engine API, 1.41 and later.
 */
import { z } from 'zod';

export const VersionAnswer = z.object({
  ApiVersion: z.string(),
  MinAPIVersion: z.string().optional(),
  Version: z.string().optional(),
});

export const InfoAnswer = z.object({
  CgroupVersion: z.string().optional(),
  Warnings: z.array(z.string()).nullish(),
});
export type InfoAnswer = z.infer<typeof InfoAnswer>;

const Labels = z
  .record(z.string(), z.string())
  .nullish()
  .transform((labels) => labels ?? {});

export const ListedContainer = z.object({
  Id: z.string(),
  Names: z
    .array(z.string())
    .nullish()
    .transform((names) => (names ?? []).map((name) => name.replace(/^\//, ''))),
  Labels,
  State: z.string(),
  HostConfig: z.object({ NetworkMode: z.string().optional() }).optional(),
});
export type ListedContainer = z.infer<typeof ListedContainer>;

export const InspectedContainer = z.object({
  Id: z.string(),
  Name: z.string().optional(),
  Config: z.object({
    Labels,
    Env: z
      .array(z.string())
      .nullish()
      .transform((env) => env ?? []),
  }),
  State: z.object({
    /** `created`: it never ran, its exit code means nothing. */
    Status: z.string(),
    Running: z.boolean(),
    Paused: z.boolean().optional(),
    OOMKilled: z.boolean().optional(),
    ExitCode: z.number(),
    Error: z.string().optional(),
    StartedAt: z.string().optional(),
  }),
  HostConfig: z.object({
    NetworkMode: z.string().optional(),
    Runtime: z.string().optional(),
    Binds: z.array(z.string()).nullish(),
    Devices: z.array(z.object({ PathOnHost: z.string().optional() })).nullish(),
    DeviceRequests: z
      .array(
        z.object({
          Driver: z.string().optional(),
          DeviceIDs: z.array(z.string()).nullish(),
          Capabilities: z.array(z.array(z.string())).nullish(),
        }),
      )
      .nullish(),
  }),
  /** Sessions (`docker exec`) that run in it. */
  ExecIDs: z.array(z.string()).nullish(),
  NetworkSettings: z.object({
    Networks: z
      .record(z.string(), z.object({ IPAddress: z.string().optional() }).nullable())
      .nullish()
      .transform((networks) => networks ?? {}),
  }),
  Mounts: z
    .array(
      z.object({
        Type: z.string(),
        Name: z.string().optional(),
        Source: z.string().optional(),
        Destination: z.string(),
      }),
    )
    .nullish()
    .transform((mounts) => mounts ?? []),
});
export type InspectedContainer = z.infer<typeof InspectedContainer>;

export const InspectedSession = z.object({
  Running: z.boolean(),
  ProcessConfig: z.object({ arguments: z.array(z.string()).nullish() }),
});
export type InspectedSession = z.infer<typeof InspectedSession>;

export const ListedNetwork = z.object({ Id: z.string(), Name: z.string(), Labels });

export const DockerEvent = z.object({
  Type: z.string(),
  Action: z.string(),
  Actor: z.object({ ID: z.string(), Attributes: Labels }),
  time: z.number().optional(),
  timeNano: z.number().optional(),
});
export type DockerEvent = z.infer<typeof DockerEvent>;

export const StatsAnswer = z.object({
  memory_stats: z.object({
    usage: z.number().optional(),
    stats: z.record(z.string(), z.number()).nullish(),
  }),
});
export type StatsAnswer = z.infer<typeof StatsAnswer>;
