/** The official SDK for Python, in a folder of the bench. */
import { existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { benchDir } from '../../home/lib/paths.ts';
import { run } from '../../home/lib/run.ts';
import { onTerminal, runStep, type Step } from '../../home/lib/steps.ts';
import { BEGUN_CALL } from '../../support/tool-template.ts';
import { type ApiClient, LIGHT, LONG, PROMPT, REPLY, TO_THE_LIMIT } from './client.ts';
import { runProgram } from './program.ts';

const VERSION = '3.57.0';
const PROGRAM = join(import.meta.dirname, 'openai_client.py');

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

export async function openaiPython(url: string): Promise<ApiClient> {
  const PYTHONPATH = await runStep(packageStep, onTerminal);
  const spec = JSON.stringify({
    prompt: PROMPT,
    long: LONG,
    more: TO_THE_LIMIT,
    light: LIGHT,
    begun: BEGUN_CALL,
    reply: REPLY,
  });
  const call = async (model: string, what: string, line?: (text: string) => void): Promise<unknown> => {
    const said = await runProgram('python3', [PROGRAM, url, model, what, spec], { PYTHONPATH }, line);
    return JSON.parse(said.split('\n').at(-1) ?? 'null');
  };
  return {
    name: 'OpenAI SDK (Python)',
    whole: async (model) => String(await call(model, 'whole')),
    stream: async (model, first) =>
      String(await call(model, 'stream', (text) => (text === 'first' ? first() : undefined))),
    tool: (model) => call(model, 'tool'),
    structured: (model) => call(model, 'structured'),
  };
}
