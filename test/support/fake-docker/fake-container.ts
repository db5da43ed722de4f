/**
 * A container of the fake engine: its state, its log, and the program in it.
 */
import type { ServerResponse } from 'node:http';
import { z } from 'zod';
import type { FakeLlama } from './fake-llama.ts';
import { startFakeLlama } from './fake-llama.ts';

/** The part of Docker's create options that the fake acts on. */
export const CreateBody = z.looseObject({
  Image: z.string(),
  Entrypoint: z.array(z.string()).optional(),
  Env: z.array(z.string()).optional(),
  Labels: z.record(z.string(), z.string()).optional(),
  HostConfig: z
    .looseObject({
      NetworkMode: z.string().optional(),
      Memory: z.number().optional(),
      Devices: z.array(z.object({ PathOnHost: z.string() })).optional(),
      DeviceRequests: z.array(z.object({ Driver: z.string().optional() })).optional(),
    })
    .optional(),
});
export type CreateBody = z.infer<typeof CreateBody>;

export type Status = 'created' | 'running' | 'paused' | 'exited' | 'removing';

export interface FakeContainer {
  readonly id: string;
  readonly name: string;
  readonly body: CreateBody;
  status: Status;
  exitCode: number;
  oomKilled: boolean;
  startedAt: string;
  error: string;
  readonly log: string[];
  /** Open answers of `logs?follow` and `wait`. */
  readonly followers: Set<ServerResponse>;
  readonly waiters: Set<{ readonly response: ServerResponse; readonly removed: boolean }>;
  readonly networks: Map<string, string>;
  llama: FakeLlama | null;
}

/** What its program may tell the engine. */
export interface ProgramEnd {
  readonly exitCode: number;
  readonly oom: boolean;
}

export function print(container: FakeContainer, line: string): void {
  container.log.push(line);
  for (const follower of container.followers) follower.write(frame(line));
}

/** A frame of stderr: header of 8 bytes, then the text. */
export function frame(line: string): Buffer {
  const text = Buffer.from(`${line}\n`);
  const header = Buffer.alloc(8);
  header.writeUInt8(2, 0);
  header.writeUInt32BE(text.length, 4);
  return Buffer.concat([header, text]);
}

/** Anything with `sleep` as its entrypoint just runs. */
export function runProgram(container: FakeContainer, host: string, ended: (end: ProgramEnd) => void): void {
  const { body } = container;
  if (body.Entrypoint?.[0] === 'sleep') return;
  const env = new Map<string, string>();
  for (const line of body.Env ?? [])
    env.set(line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1));
  container.llama = startFakeLlama({
    host,
    env,
    image: body.Image,
    memoryLimit: body.HostConfig?.Memory ?? Number.POSITIVE_INFINITY,
    print: (line) => print(container, line),
    ended,
  });
}

/** Docker's own refusal at start, where this host lacks what the container asks for. */
export function startRefusal(body: CreateBody): string | null {
  const driver = body.HostConfig?.DeviceRequests?.[0]?.Driver;
  if (driver !== undefined) return `could not select device driver "${driver}" with capabilities: [[gpu]]`;
  const device = body.HostConfig?.Devices?.[0]?.PathOnHost;
  if (device === undefined) return null;
  return `error gathering device information while adding custom device "${device}": no such file or directory`;
}
