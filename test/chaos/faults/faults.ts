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
}

export interface Fault {
  readonly name: string;
  readonly weight: number;
  strike(victims: Victims, random: Random): Promise<string | null>;
}

/** Does something to one instance by the docker command; null: there was none, or it ended meanwhile. */
async function hurt(
  victims: Victims,
  random: Random,
  commands: (container: string) => string[][],
): Promise<string | null> {
  const running = await victims.instances();
  if (running.length === 0) return null;
  const container = random.pick(running);
  for (const command of commands(container)) {
    const failed = await victims.docker.run(command).then(
      () => false,
      () => true,
    );
    if (failed) return null;
  }
  return container;
}

function onInstance(name: string, weight: number, commands: (container: string) => string[][]): Fault {
  return { name, weight, strike: (victims, random) => hurt(victims, random, commands) };
}

const SIGNAL_LLAMA = (signal: string) =>
  `for p in /proc/[0-9]*; do case "$(readlink $p/exe)" in *llama-server) kill -${signal} $(basename $p);; esac; done`;

/** Below what any instance takes: the kernel ends it. */
const TOO_LITTLE = '24m';

export const FAULTS: readonly Fault[] = [
  onInstance('kill', 5, (one) => [['kill', one]]),
  onInstance('stop', 2, (one) => [['stop', '--time', '1', one]]),
  onInstance('remove', 1, (one) => [['rm', '--force', one]]),
  onInstance('abort', 2, (one) => [['exec', one, 'sh', '-c', SIGNAL_LLAMA('ABRT')]]),
  onInstance('freeze', 2, (one) => [['pause', one]]),
  // Docker does not see a signal sent inside: only the silence tells.
  onInstance('silence', 2, (one) => [['exec', one, 'sh', '-c', SIGNAL_LLAMA('STOP')]]),
  onInstance('starve of memory', 2, (one) => [
    ['update', '--memory', TOO_LITTLE, '--memory-swap', TOO_LITTLE, one],
  ]),
  {
    name: 'starve of time',
    weight: 2,
    async strike(victims, random) {
      const container = await hurt(victims, random, (one) => [['update', '--cpus', '0.05', one]]);
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
      await victims.docker.run(['kill', id.trim().split('\n')[0] ?? '']);
      return 'holder';
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
