/** curl, as in a shell script. */

import { BEGUN_CALL } from '../../support/tool-template.ts';
import { streamedText } from '../support/chat.ts';
import { type ApiClient, LIGHT, LONG, PROMPT, REPLY, TO_THE_LIMIT } from './client.ts';
import { runProgram } from './program.ts';

interface Whole {
  readonly choices: readonly {
    readonly message: {
      readonly content: string | null;
      readonly tool_calls?: readonly { readonly function: { readonly arguments: string } }[];
    };
  }[];
}

export function curl(url: string): ApiClient {
  const post = (body: object, line?: (text: string) => void) =>
    runProgram(
      'curl',
      [
        ...['--silent', '--show-error', '--no-buffer', '--fail-with-body'],
        ...['--header', 'Content-Type: application/json', '--data', JSON.stringify(body)],
        `${url}/v1/chat/completions`,
      ],
      {},
      line,
    );
  const messages = [{ role: 'user', content: PROMPT }];
  const message = async (body: object) => (JSON.parse(await post(body)) as Whole).choices[0]?.message;
  return {
    name: 'curl',
    async whole(model) {
      return (await message({ model, messages, max_tokens: 16 }))?.content ?? '';
    },
    async stream(model, first) {
      let seen = false;
      const raw = await post({ model, messages, max_tokens: LONG, stream: true, ...TO_THE_LIMIT }, (text) => {
        if (!seen && streamedText(text) !== '') {
          seen = true;
          first();
        }
      });
      if (!raw.trimEnd().endsWith('data: [DONE]')) throw new Error(`no end: ${raw.slice(-200)}`);
      return streamedText(raw);
    },
    async tool(model) {
      const answer = await message({
        ...{ model, max_tokens: 100, tool_choice: 'required' },
        messages: [...messages, { role: 'assistant', content: BEGUN_CALL }],
        tools: [{ type: 'function', function: LIGHT }],
      });
      return JSON.parse(answer?.tool_calls?.[0]?.function.arguments ?? 'null');
    },
    async structured(model) {
      const response_format = {
        type: 'json_schema',
        json_schema: { name: 'reply', strict: true, schema: REPLY },
      };
      const answer = await message({ model, messages, max_tokens: 200, response_format });
      return JSON.parse(answer?.content ?? 'null');
    },
  };
}
