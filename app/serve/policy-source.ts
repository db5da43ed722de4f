/**
 * The policy and where it comes from: file, settings, model files, GPUs. Whatever of them changes, the whole
 * policy is made anew and handed over; a wrong file changes nothing.
 */

import {
  applySettings,
  type Config,
  type ConfigProblem,
  cameInUse,
  type LoadedConfig,
  makePolicy,
  modelDefaults,
  openSettings,
  type ParsedConfig,
  reloaded,
  type SettingsStore,
  waitsForRestart,
} from '../config.ts';
import { lookedAgain } from '../core/gpu-again.ts';
import type { DetectedGpu } from '../core/gpu-detection.ts';
import type { Input } from '../core/inputs.ts';
import { problemId, problemKey } from '../core/problem.ts';
import type { SettingChange } from '../core/request.ts';
import type { Policy, Problem } from '../core/types.ts';
import type { JsonFile, ModelFile, ModelFiles } from '../ports.ts';

export interface PolicySourceParts {
  readonly loaded: LoadedConfig;
  readonly settingsFile: JsonFile;
  readonly modelFiles: ModelFiles;
  /** Looks at the machine's graphics cards. */
  readonly detectGpus: () => Promise<readonly DetectedGpu[]>;
  readonly cores: number;
  readonly submit: (input: Input) => void;
}

export interface PolicySource {
  readonly settings: SettingsStore;
  /** File and settings together, as they hold now. */
  config(): Config;
  /** Looks at the models folder and the graphics cards again; hands a new policy over where something changed. */
  rescan(): Promise<void>;
  /**
   * The file, read again: the new policy, or problems that name what is wrong while the old one stays. A file
   * that says the same as before (a signal beside the watch on it) is no reload.
   */
  reload(parsed: ParsedConfig): Promise<void>;
}

type Why = Extract<Input, { type: 'configured' }>['why'];

/** Scans, makes the first policy and hands it over. */
export async function policySource(parts: PolicySourceParts): Promise<PolicySource> {
  const { submit } = parts;
  let { loaded } = parts;
  /** The file as it was read last, with what waits for a restart. */
  let read: LoadedConfig = parts.loaded;
  let files: readonly ModelFile[] = [];
  let detected: readonly DetectedGpu[] = [];
  /** Found by the last look and not handed over yet. */
  let came: readonly DetectedGpu[] = [];
  let told = new Map<string, Problem>();
  let scanProblems: readonly Problem[] = [];
  let fileProblems: readonly Problem[] = [];
  let current: Policy | null = null;

  const { settings, problems: settingsProblems } = await openSettings(parts.settingsFile, () => ({
    loaded,
    models: modelDefaults(loaded.config, files),
  }));

  function handOver(why: Why, changes: readonly SettingChange[] = []): void {
    const { config } = loaded;
    const made = makePolicy({
      config,
      settings: settings.values(),
      files,
      detected,
      cores: parts.cores,
    });
    const gpus = cameInUse(came, config);
    came = [];
    if (why !== 'scan' || gpus.length > 0 || !same(current, made.policy)) {
      current = made.policy;
      submit({ type: 'configured', policy: made.policy, why, settings: changes, gpus });
    }
    tellProblems([...settingsProblems, ...fileProblems, ...scanProblems, ...made.problems]);
  }

  /** Problems that are gone are taken back. */
  function tellProblems(problems: readonly Problem[]): void {
    const next = new Map(problems.map((problem) => [problemKey(problem), problem]));
    for (const [key, problem] of told) {
      if (!next.has(key)) submit({ type: 'problem_gone', ...problemId(problem) });
    }
    for (const problem of next.values()) submit({ type: 'problem_seen', problem });
    told = next;
  }

  /** One after the other: one that takes long must not undo what a later one found. */
  let looking: Promise<void> = Promise.resolve();
  function scan(): Promise<void> {
    const looked = looking.then(look);
    looking = looked.catch(() => undefined);
    return looked;
  }

  async function look(): Promise<void> {
    const found = await parts.modelFiles.scan();
    files = found.files;
    scanProblems = found.problems;
    const cards = await parts.detectGpus();
    const again = lookedAgain(detected, cards);
    detected = again.detected;
    came = [...came, ...again.came];
  }

  settings.onChange((changes) => handOver('settings', changes));
  const effective = madeOnce(applySettings);

  await scan();
  came = [];
  handOver('start');
  return {
    settings,
    config: () => effective(loaded.config, settings.values()),
    async rescan() {
      await scan();
      handOver('scan');
    },
    async reload(parsed) {
      if (!parsed.ok) {
        fileProblems = parsed.problems.map(badConfig);
        handOver('scan');
        return;
      }
      const changed = !sameText(parsed, read);
      read = parsed;
      const waiting = waitsForRestart(loaded.config, parsed.config);
      loaded = { ...parsed, config: reloaded(loaded.config, parsed.config) };
      fileProblems = waiting.length === 0 ? [] : [needsRestart(waiting)];
      await scan();
      handOver(changed ? 'reload' : 'scan');
    },
  };
}

/** The same function, which makes anew only for other arguments: each request asks for the configuration. */
function madeOnce<A, B, T>(make: (a: A, b: B) => T): (a: A, b: B) => T {
  let made: { readonly a: A; readonly b: B; readonly result: T } | null = null;
  return (a, b) => {
    if (made === null || made.a !== a || made.b !== b) made = { a, b, result: make(a, b) };
    return made.result;
  };
}

function sameText(a: LoadedConfig, b: LoadedConfig): boolean {
  return JSON.stringify([a.config, [...a.fileKeys]]) === JSON.stringify([b.config, [...b.fileKeys]]);
}

/** Policies are plain data made by one function, so their text decides. */
function same(a: Policy | null, b: Policy): boolean {
  return a !== null && text(a) === text(b);
}

function text(policy: Policy): string {
  return JSON.stringify({ ...policy, models: [...policy.models] });
}

function badConfig({ text, key, line }: ConfigProblem): Problem {
  return {
    code: 'config_invalid',
    about: `${line ?? ''} ${key}`,
    text: `The changed configuration is not used: ${text}`,
    fix: 'Mend the file; it is read again by itself. Until then the one before holds.',
  };
}

function needsRestart(keys: readonly string[]): Problem {
  return {
    code: 'restart_needed',
    text: `These keys take effect after a restart of Llamastead: ${keys.join(', ')}.`,
    fix: 'Restart the container of Llamastead.',
    params: { keys: keys.join(', ') },
  };
}
