/** The official SDK for Python, in a folder of the bench. */
import { existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { benchDir } from '../../home/lib/paths.ts';
import { run } from '../../home/lib/run.ts';
import { onTerminal, runStep, type Step } from '../../home/lib/steps.ts';
import { BEGUN_CALL } from '../../support/tool-template.ts';
import {
  AFTER_A_CALL,
  type ApiClient,
  PROMPT,
  reply,
  SHORT,
  type Size,
  scene,
  TEMPERATURE,
  TO_THE_LIMIT,
  type Watch,
} from './client.ts';
import { startProgram } from './program.ts';

const VERSION = '3.57.0';
const PROGRAM = join(import.meta.dirname, 'openai_client.py');
const DEAF: Watch = { piece() {}, ended() {} };

const packageStep: Step<string> = {
  name: `OpenAI SDK for Python ${VERSION}`,
  advice: 'See whether the Python package index is reachable: pip3 download openai, then again.',
  find: async () => (existsSync(folder()) ? folder() : undefined),
  async make(log) {
    const half = `${folder()}.half`;
    rmSync(half, { recursive: true, force: true });
    await run('pip3', ['install', '--target', half, `openai==${VERSION}`], { onLine: log });
    renameSync(half, folder());
    return folder();
  },
};

function folder(): string {
  return join(benchDir, `openai-python-${VERSION}`);
}

type Doing = Exclude<keyof ApiClient, 'name' | 'close'>;

interface Told {
  readonly id: number;
  readonly piece?: true;
  readonly ended?: string;
  readonly error?: string;
  readonly value?: unknown;
}

interface Asked {
  readonly watch: Watch;
  readonly answer: PromiseWithResolvers<unknown>;
}

/** One process for all that is asked: Python takes longer to import the SDK than an answer takes to come. */
export async function openaiPython(url: string): Promise<ApiClient> {
  const PYTHONPATH = await runStep(packageStep, onTerminal);
  const asked = new Map<number, Asked>();
  const program = startProgram('python3', [PROGRAM, url], { PYTHONPATH }, (line) => {
    const told = JSON.parse(line) as Told;
    const one = asked.get(told.id);
    if (one !== undefined) hear(one, told);
  });
  const failAll = (error: unknown) => {
    for (const { answer } of asked.values()) answer.reject(error);
  };
  program.ended.then(() => failAll(new Error('the program ended')), failAll);
  const ask = (model: string, what: Doing, { steps, tokens }: Size, watch: Watch): Promise<unknown> => {
    const answer = Promise.withResolvers<unknown>();
    const id = asked.size;
    asked.set(id, { watch, answer });
    const said = {
      prompt: PROMPT,
      begun: BEGUN_CALL,
      more: TO_THE_LIMIT,
      temperature: TEMPERATURE,
      stop: AFTER_A_CALL,
    };
    program.tell(
      JSON.stringify({ id, model, do: what, tokens, ...said, tool: scene(steps), schema: reply(steps) }),
    );
    return answer.promise;
  };
  const alone = (what: Doing, size: Size) => (model: string) => ask(model, what, size, DEAF);
  return {
    name: 'OpenAI SDK (Python)',
    whole: async (model) => String(await alone('whole', { ...SHORT, tokens: 16 })(model)),
    stream: async (model, tokens, watch) => String(await ask(model, 'stream', { ...SHORT, tokens }, watch)),
    tool: alone('tool', SHORT),
    streamedTool: async (model, size, watch) =>
      (await ask(model, 'streamedTool', size, watch)) as readonly unknown[],
    structured: alone('structured', SHORT),
    streamedStructured: (model, size, watch) => ask(model, 'streamedStructured', size, watch),
    async close() {
      program.close();
      await program.ended;
    },
  };
}

function hear({ watch, answer }: Asked, { piece, ended, error, value }: Told): void {
  if (piece) watch.piece();
  else if (ended !== undefined) watch.ended(ended);
  else if (error !== undefined) answer.reject(new Error(error));
  else answer.resolve(value);
}
