/** What may stand in a model's `env`, against the real llama-server: nothing that is taken here ends it there. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ENV_FORMS, refusePair } from '../../app/config/env-forms.ts';
import { refuseModelValue } from '../../app/config/model-env.ts';
import { ensureBench } from '../home/bench.ts';
import { eventually, isReady, llamaServers, type Servers } from './llama-servers.ts';

const WRONG = 'abc';
const INTEGERS = ['-2147483647', '-1', '0', '1', '0512', '2147483647', '512.5', '2147483648', '1e3'];
const NUMBERS = ['-1', '0', '.5', '5.', '3.4e38', '1.2e-38', '1e-38', '1e39', 'nan', '0.7x', '1,5'];

/** By what is expected: values to try, right and wrong ones. Words that are told as expected are tried too. */
function samples(expected: string): readonly string[] {
  if (expected.startsWith('a whole number')) return INTEGERS;
  if (expected.startsWith('a number')) return NUMBERS;
  if (expected.startsWith('a JSON')) return ['{}', '{"a": 1}', '{a: 1}', '[1]'];
  if (expected === 'a text') return ['chatml', 'some words', ''];
  const words = expected
    .replace(/^one (of|or more of) /, '')
    .replace(/, with .*/, '')
    .split(', ');
  return [...words, words.join(','), words.join(', '), words[0]?.toUpperCase() ?? '', ''];
}

/** All that is taken here, and one that no form takes. */
const CASES = [...ENV_FORMS].flatMap(([name, { expected, takes }]) =>
  [...samples(expected).filter(takes), ...(takes(WRONG) ? [] : [WRONG])].map((value) => ({ name, value })),
);

/** It has no argument on the command line: any other word than those for "on" leaves it off. */
const TAKES_ANY = new Set(['LLAMA_ARG_BACKEND_SAMPLING']);

/** Variables are read before the model: without one it ends at once, and its words tell by what. */
const ASK_EACH = `
while [ $# -gt 0 ]; do
  case "$(env "$1=$2" LLAMA_ARG_MODEL=/none /app/llama-server 2>&1)" in
    *"error while handling environment variable"*) echo refused ;;
    *"failed to load model"*|*"error loading model"*) echo taken ;;
    *) echo unclear ;;
  esac
  shift 2
done`;

test('every value that is taken here is taken by llama-server, and a word for a number is not', async () => {
  const { docker, images } = await ensureBench();
  const container = ['run', '--rm', '--network', 'none', '--entrypoint', 'bash', images.cpu, '-c', ASK_EACH];
  const asked = CASES.flatMap(({ name, value }) => [name, value]);
  const verdicts = (await docker.run([...container, 'ask', ...asked])).trim().split('\n');
  assert.equal(verdicts.length, CASES.length);
  for (const [index, { name, value }] of CASES.entries()) {
    const isTaken = refuseModelValue(name, value) === null || TAKES_ANY.has(name);
    assert.equal(verdicts[index], isTaken ? 'taken' : 'refused', `${name}=${value}`);
  }
});

describe('what ends llama-server only with a model is refused too', () => {
  let servers: Servers;
  before(async () => {
    servers = await llamaServers('env');
  });
  after(() => servers.removeAll());

  const runs = async (env: Record<string, string>): Promise<boolean> => {
    const server = await servers.start('one', { env });
    let ended = false;
    const end = servers.docker.run(['wait', server.name]).then(() => {
      ended = true;
    });
    await eventually(async () => ended || (await isReady(server)));
    const ran = !ended;
    await servers.remove(server);
    await end;
    return ran;
  };

  for (const [value, taken] of [
    ['1', false],
    ['2', true],
  ] as const) {
    test(`a batch of ${value}`, async () => {
      assert.equal(refuseModelValue('LLAMA_ARG_BATCH', value) === null, taken);
      assert.equal(await runs({ LLAMA_ARG_BATCH: value }), taken);
    });
  }

  for (const attention of ['on', 'off']) {
    test(`a quantised V with flash attention ${attention}`, async () => {
      const env = { LLAMA_ARG_CACHE_TYPE_V: 'q8_0', LLAMA_ARG_FLASH_ATTN: attention };
      assert.equal(refusePair(env) === null, attention === 'on');
      assert.equal(await runs(env), attention === 'on');
    });
  }
});
