/** What is done to a home under load, as data. Each fault says whom it hit; null: there was nothing to hit. */
import type { Docker } from '../../home/lib/docker.ts';
import type { Random } from '../random.ts';

/** The parts of a home that can be hurt. */
export interface Victims {
  readonly docker: Docker;
  /** Names of the controller's running instance containers. */
  instances(): Promise<readonly string[]>;
  restartEngine(): Promise<void>;
  /** Ends the controller without a warning and starts it again. */
  killController(): Promise<void>;
  stopBroker(ms: number): Promise<void>;
  /**
   * Waits, not for ever, until an instance has sent so many pieces of a long text that goes on; null: none did.
   */
  inTheMiddleOfAText(pieces: number): Promise<string | null>;
}

export interface Fault {
  readonly name: string;
  readonly weight: number;
  strike(victims: Victims, random: Random): Promise<string | null>;
}

type Commands = (container: string) => string[][];

/** Does something to any instance; null: there was none, or it ended meanwhile. */
async function hurtAny(victims: Victims, random: Random, commands: Commands): Promise<string | null> {
  const running = await victims.instances();
  return running.length === 0 ? null : hurt(victims, random.pick(running), commands);
}

/** Does something to an instance by the docker command; null: it ended meanwhile. */
async function hurt(victims: Victims, container: string, commands: Commands): Promise<string | null> {
  for (const command of commands(container)) {
    const failed = await victims.docker.run(command).then(
      () => false,
      () => true,
    );
    if (failed) return null;
  }
  return container;
}

function onInstance(name: string, weight: number, commands: Commands): Fault {
  return { name, weight, strike: (victims, random) => hurtAny(victims, random, commands) };
}

const SIGNAL_LLAMA = (signal: string) =>
  `for p in /proc/[0-9]*; do case "$(readlink $p/exe)" in *llama-server) kill -${signal} $(basename $p);; esac; done`;

/** Below what any instance takes: the kernel ends it. */
const TOO_LITTLE = '24m';

const kill: Commands = (one) => [['kill', one]];
const remove: Commands = (one) => [['rm', '--force', one]];
const abort: Commands = (one) => [['exec', one, 'sh', '-c', SIGNAL_LLAMA('ABRT')]];
const freeze: Commands = (one) => [['pause', one]];
/** Docker does not see a signal sent inside: only the silence tells. */
const silence: Commands = (one) => [['exec', one, 'sh', '-c', SIGNAL_LLAMA('STOP')]];

/** Ends of a stream that the same text can go on after. */
const CUTS = Object.entries({ kill, remove, abort, freeze, silence });
/** Most pieces of a text before its cut. */
const LATEST_CUT = 150;

/** The most frequent one: only a text that was cut has a seam. */
export const CUT: Fault = {
  name: 'cut a text',
  weight: 12,
  async strike(victims, random) {
    const [way, commands] = random.pick(CUTS);
    const container = await victims.inTheMiddleOfAText(random.between(1, LATEST_CUT));
    if (container === null || (await hurt(victims, container, commands)) === null) return null;
    return `${container}, by ${way}`;
  },
};

/** All others. */
export const FAULTS: readonly Fault[] = [
  onInstance('kill', 5, kill),
  onInstance('stop', 2, (one) => [['stop', '--time', '1', one]]),
  onInstance('remove', 1, remove),
  onInstance('abort', 2, abort),
  onInstance('freeze', 2, freeze),
  onInstance('silence', 2, silence),
  onInstance('starve of memory', 2, (one) => [
    ['update', '--memory', TOO_LITTLE, '--memory-swap', TOO_LITTLE, one],
  ]),
  {
    name: 'starve of time',
    weight: 2,
    async strike(victims, random) {
      const container = await hurtAny(victims, random, (one) => [['update', '--cpus', '0.05', one]]);
      if (container === null) return null;
      // Slow is not broken: a request may go on there for as long as it lasts.
      await new Promise((resolve) => setTimeout(resolve, random.between(1000, 8000)));
      await victims.docker.run(['update', '--cpus', '2', container]).catch(() => undefined);
      return container;
    },
  },
  {
    name: 'kill the holder',
    weight: 1,
    async strike(victims) {
      const label = 'label=io.llamastead.role=holder';
      const id = await victims.docker.run(['ps', '--quiet', '--filter', label]);
      if (id.trim() === '') return null;
      const killed = await hurt(victims, id.trim().split('\n')[0] ?? '', kill);
      return killed === null ? null : 'holder';
    },
  },
  {
    name: 'restart the engine',
    weight: 0.5,
    async strike(victims) {
      await victims.restartEngine();
      return 'engine';
    },
  },
  {
    name: 'kill the controller',
    weight: 1,
    async strike(victims) {
      await victims.killController();
      return 'controller';
    },
  },
  {
    name: 'stop the broker',
    weight: 1,
    async strike(victims, random) {
      const ms = random.between(500, 5000);
      await victims.stopBroker(ms);
      return `for ${ms} ms`;
    },
  },
];

/** Wakes what was silenced or frozen and nobody missed, so that its slots can be asked for. */
export async function heal({ docker, instances }: Pick<Victims, 'docker' | 'instances'>): Promise<void> {
  for (const one of await instances()) {
    await docker.run(['unpause', one]).catch(() => undefined);
    await docker.run(['exec', one, 'sh', '-c', SIGNAL_LLAMA('CONT')]).catch(() => undefined);
  }
}
