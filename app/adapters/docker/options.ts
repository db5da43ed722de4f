/**
 * What the Docker adapter is told by the composition root.
 */
import type { Clock } from '../../ports.ts';

/** How an engine is reached. */
export interface EngineConfig {
  /** Path of the engine's Unix socket. */
  readonly socket: string;
}

/** The part of a logger that this adapter uses; pino's own methods have this shape. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** Waits, in milliseconds. */
export interface Timing {
  /** Pause between two looks at `/health` of a loading instance. */
  readonly healthPoll: number;
  /** A starting instance whose log is silent for so long is given up. */
  readonly stall: number;
  /** From the end of our connections to SIGTERM. */
  readonly beforeTerm: number;
  /** From SIGTERM to SIGKILL. */
  readonly termGrace: number;
  /** A container that is not gone after so long is stuck. */
  readonly removal: number;
  /** A freed port is not given again for so long. */
  readonly portRest: number;
  /** Between two observations of an engine. */
  readonly observe: number;
  /** From a call without an answer to the next observation. */
  readonly doubt: number;
  /** Between two looks for an image that is missing. */
  readonly image: number;
  /** The longest wait between two tries to reach an engine. */
  readonly retryMax: number;
  /** The longest that one ordinary call to an engine may take. */
  readonly call: number;
}

export const TIMING: Timing = {
  healthPoll: 10,
  stall: 180_000,
  beforeTerm: 50,
  termGrace: 5_000,
  removal: 10_000,
  portRest: 60_000,
  observe: 60_000,
  doubt: 1_000,
  image: 10_000,
  retryMax: 5_000,
  call: 30_000,
};

export interface ConfiguredImages {
  /** The CPU llama image, of which only `sleep` is used. */
  readonly holder: string;
  /** What models may use. */
  readonly all: readonly string[];
  /** What the models of this machine do use on the engine. */
  used(engine: string): readonly string[];
  /** Of which the reader of the engine's NVIDIA cards is made; null: it has none. */
  cards(engine: string): string | null;
}

export interface DockerOptions {
  /** Name of this installation: the label `.instance`, part of the containers' names. */
  readonly home: string;
  /** Uuid kept in state: the label `.owner`. */
  readonly owner: string;
  readonly engines: Readonly<Record<string, EngineConfig>>;
  /** As configured now. */
  readonly images: () => ConfiguredImages;
  readonly models: {
    /** The models folder as this process sees it. */
    readonly here: string;
    /** As the engine's host sees it; `auto`: read from this container's own mounts. */
    readonly onHost: string | 'auto';
  };
  /** Network for the holder; `auto`: this container's own, or one made for it. */
  readonly network: string | 'auto';
  readonly clock: Clock;
  readonly log: Log;
  readonly timing?: Partial<Timing>;
  /** Where this process reads its mounts; tests point it at a fixture. */
  readonly mountinfo?: string;
}
