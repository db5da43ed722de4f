/** What a reload may change while running, and what waits for a restart. */
import type { Config } from './secrets.ts';

/** Keys that are read once, at the start. */
const FIXED_WHILE_RUNNING = ['listen', 'paths', 'network', 'engines', 'mqtt'] as const;

/** Keys that differ and take effect only after a restart; empty: all of the new configuration holds now. */
export function waitsForRestart(running: Config, next: Config): readonly string[] {
  return FIXED_WHILE_RUNNING.filter((key) => JSON.stringify(running[key]) !== JSON.stringify(next[key]));
}

/**
 * The configuration to go on with after a reload: the new one, with the keys that wait for a restart as they
 * are now.
 */
export function reloaded(running: Config, next: Config): Config {
  const { listen, paths, network, engines, mqtt } = running;
  return { ...next, listen, paths, network, engines, mqtt };
}
