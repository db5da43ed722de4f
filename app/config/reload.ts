/** What a reload may change while running, and what waits for a restart. */
import type { Config } from './secrets.ts';

/** Keys that are read once, at the start. */
const FIXED_WHILE_RUNNING = [
  'listen',
  'paths',
  'network',
  'engines',
  'mqtt.embedded',
  'mqtt.base',
  'mqtt.instance',
] as const;

/** Keys that differ and take effect only after a restart; empty: all of the new configuration holds now. */
export function waitsForRestart(running: Config, next: Config): readonly string[] {
  return FIXED_WHILE_RUNNING.filter(
    (key) => JSON.stringify(at(running, key)) !== JSON.stringify(at(next, key)),
  );
}

/**
 * The configuration to go on with after a reload: the new one, with the keys that wait for a restart as they
 * are now.
 */
export function reloaded(running: Config, next: Config): Config {
  const { listen, paths, network, engines } = running;
  const { embedded, base, instance } = running.mqtt;
  return { ...next, listen, paths, network, engines, mqtt: { ...next.mqtt, embedded, base, instance } };
}

function at(config: Config, key: (typeof FIXED_WHILE_RUNNING)[number]): unknown {
  switch (key) {
    case 'mqtt.embedded':
      return config.mqtt.embedded;
    case 'mqtt.base':
      return config.mqtt.base;
    case 'mqtt.instance':
      return config.mqtt.instance;
    default:
      return config[key];
  }
}
