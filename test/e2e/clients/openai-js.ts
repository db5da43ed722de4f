/** The official SDK for JavaScript. */
import OpenAI from 'openai';
import type { ChatCompletionStream } from 'openai/lib/ChatCompletionStream';
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

export function openaiJs(url: string): ApiClient {
  const { completions } = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none' }).chat;
  const messages = [{ role: 'user' as const, content: PROMPT }];
  const toolBody = (model: string, { steps, tokens }: Size) => ({
    ...{
      model,
      temperature: TEMPERATURE,
      max_tokens: tokens,
      tool_choice: 'required' as const,
      parallel_tool_calls: false,
      stop: AFTER_A_CALL,
    },
    messages: [...messages, { role: 'assistant' as const, content: BEGUN_CALL }],
    tools: [{ type: 'function' as const, function: scene(steps) }],
  });
  const structuredBody = (model: string, { steps, tokens }: Size) => {
    const json_schema = { name: 'reply', strict: true, schema: reply(steps) };
    return {
      ...{ model, messages, temperature: TEMPERATURE, max_tokens: tokens },
      response_format: { type: 'json_schema' as const, json_schema },
    };
  };
  return {
    name: 'OpenAI SDK (JavaScript)',
    async whole(model) {
      const answer = await completions.create({ model, messages, max_tokens: 16 });
      return answer.choices[0]?.message.content ?? '';
    },
    async stream(model, max_tokens, watch) {
      const answer = await watched(
        completions.stream({ model, messages, max_tokens, ...TO_THE_LIMIT }),
        watch,
      );
      return answer.choices[0]?.message.content ?? '';
    },
    async tool(model) {
      const answer = await completions.create(toolBody(model, SHORT));
      const [call] = answer.choices[0]?.message.tool_calls ?? [];
      return call?.type === 'function' ? JSON.parse(call.function.arguments) : null;
    },
    async streamedTool(model, size, watch) {
      const answer = await watched(completions.stream(toolBody(model, size)), watch);
      const calls = answer.choices[0]?.message.tool_calls ?? [];
      return calls.map((call) => (call.type === 'function' ? JSON.parse(call.function.arguments) : null));
    },
    async structured(model) {
      const answer = await completions.create(structuredBody(model, SHORT));
      return JSON.parse(answer.choices[0]?.message.content ?? 'null');
    },
    async streamedStructured(model, size, watch) {
      const answer = await watched(completions.stream(structuredBody(model, size)), watch);
      return JSON.parse(answer.choices[0]?.message.content ?? 'null');
    },
  };
}

function watched<T>(stream: ChatCompletionStream<T>, { piece, ended }: Watch) {
  stream.on('chunk', ({ choices: [choice] }) => {
    if (choice?.delta.content || choice?.delta.tool_calls) piece();
    if (choice?.finish_reason) ended(choice.finish_reason);
  });
  return stream.finalChatCompletion();
}
