/** What `/healthz` and `/readyz` say. Problems are told as well, but only engine and broker decide. */
import type { State } from '../core/state.ts';

export interface Health {
  readonly alive: boolean;
  readonly ready: boolean;
  readonly reasons: readonly string[];
}

export function healthOf(state: State, brokerUp: boolean): Health {
  const engines = [...state.engines.values()];
  const enginesReady =
    engines.length > 0 && engines.every((engine) => engine.observed && engine.problem === null);
  const reasons = [...state.problems.values()].map(({ text, fix }) => `${text} ${fix}`);
  if (!enginesReady && engines.every((engine) => engine.problem === null)) {
    reasons.unshift('The Docker engine has not been looked at yet.');
  }
  if (!brokerUp) reasons.push('The MQTT broker is not reachable.');
  return {
    alive: true,
    ready: enginesReady && brokerUp && state.policy !== null && state.shutdown === null,
    reasons,
  };
}
