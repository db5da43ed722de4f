/** The official SDK for JavaScript. */
import OpenAI from 'openai';
import { BEGUN_CALL } from '../../support/tool-template.ts';
import { type ApiClient, LIGHT, LONG, PROMPT, REPLY, TO_THE_LIMIT } from './client.ts';

export function openaiJs(url: string): ApiClient {
  const { completions } = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none' }).chat;
  const messages = [{ role: 'user' as const, content: PROMPT }];
  return {
    name: 'OpenAI SDK (JavaScript)',
    async whole(model) {
      const answer = await completions.create({ model, messages, max_tokens: 16 });
      return answer.choices[0]?.message.content ?? '';
    },
    async stream(model, first) {
      let text = '';
      const stream = await completions.create({
        ...{ model, messages, max_tokens: LONG, stream: true as const, ...TO_THE_LIMIT },
      });
      for await (const chunk of stream) {
        const piece = chunk.choices[0]?.delta.content ?? '';
        if (text === '' && piece !== '') first();
        text += piece;
      }
      return text;
    },
    async tool(model) {
      const answer = await completions.create({
        ...{ model, max_tokens: 100, tool_choice: 'required' },
        messages: [...messages, { role: 'assistant', content: BEGUN_CALL }],
        tools: [{ type: 'function', function: { ...LIGHT, parameters: { ...LIGHT.parameters } } }],
      });
      const [call] = answer.choices[0]?.message.tool_calls ?? [];
      return call?.type === 'function' ? JSON.parse(call.function.arguments) : null;
    },
    async structured(model) {
      const json_schema = { name: 'reply', strict: true, schema: { ...REPLY } };
      const answer = await completions.create({
        ...{ model, messages, max_tokens: 200, response_format: { type: 'json_schema', json_schema } },
      });
      return JSON.parse(answer.choices[0]?.message.content ?? 'null');
    },
  };
}
