/** The engines that can be used now: those on a local socket. */
import type { EngineConfig } from '../adapters/docker/containers.ts';
import type { Config } from '../config.ts';

export function engineSockets(config: Config): Readonly<Record<string, EngineConfig>> {
  const sockets: Record<string, EngineConfig> = {};
  for (const [name, engine] of Object.entries(config.engines)) {
    if ('socket' in engine) sockets[name] = { socket: engine.socket };
  }
  return sockets;
}
