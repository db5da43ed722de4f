/** LangChain's ChatOpenAI. */
import type { CallbackHandlerMethods } from '@langchain/core/callbacks/base';
import { AIMessage, type AIMessageChunk, HumanMessage } from '@langchain/core/messages';
import { concat } from '@langchain/core/utils/stream';
import { ChatOpenAI } from '@langchain/openai';
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

export function langchain(url: string): ApiClient {
  const chat = (model: string, maxTokens: number, modelKwargs = {}) =>
    new ChatOpenAI({
      model,
      maxTokens,
      temperature: TEMPERATURE,
      apiKey: 'none',
      configuration: { baseURL: `${url}/v1` },
      modelKwargs,
    });
  const caller = (model: string, { steps, tokens }: Size) =>
    chat(model, tokens).bindTools([{ type: 'function', function: scene(steps) }], {
      tool_choice: 'required',
      parallel_tool_calls: false,
      stop: AFTER_A_CALL,
    });
  const begun = [new HumanMessage(PROMPT), new AIMessage(BEGUN_CALL)];
  const structured = (model: string, { steps, tokens }: Size) =>
    chat(model, tokens).withStructuredOutput<Record<string, unknown>>(
      { title: 'reply', ...reply(steps) },
      { method: 'jsonSchema' },
    );
  return {
    name: 'LangChain ChatOpenAI',
    async whole(model) {
      return (await chat(model, 16).invoke(PROMPT)).text;
    },
    async stream(model, tokens, watch) {
      return (await watched(await chat(model, tokens, TO_THE_LIMIT).stream(PROMPT), watch)).text;
    },
    async tool(model) {
      return (await caller(model, SHORT).invoke(begun)).tool_calls?.[0]?.args;
    },
    async streamedTool(model, size, watch) {
      const { tool_calls = [] } = await watched(await caller(model, size).stream(begun), watch);
      return tool_calls.map(({ args }) => args);
    },
    async structured(model) {
      return structured(model, SHORT).invoke(PROMPT);
    },
    async streamedStructured(model, size, watch) {
      let object: unknown;
      // The stream is one of objects; of how it ended only a callback tells.
      const callbacks = [{ handleLLMNewToken: (...told: NewToken) => hear(told, watch) }];
      for await (const soFar of await structured(model, size).stream(PROMPT, { callbacks })) object = soFar;
      return object;
    },
  };
}

async function watched(chunks: AsyncIterable<AIMessageChunk>, watch: Watch): Promise<AIMessageChunk> {
  let all: AIMessageChunk | undefined;
  for await (const chunk of chunks) {
    tell(chunk, watch);
    all = all === undefined ? chunk : concat(all, chunk);
  }
  if (all === undefined) throw new Error('the stream was empty');
  return all;
}

function tell(chunk: AIMessageChunk, { piece, ended }: Watch): void {
  if (chunk.text !== '' || (chunk.tool_call_chunks ?? []).length > 0) piece();
  const reason = chunk.response_metadata['finish_reason'];
  if (typeof reason === 'string') ended(reason);
}

type NewToken = Parameters<NonNullable<CallbackHandlerMethods['handleLLMNewToken']>>;

function hear([text, , , , , fields]: NewToken, { piece, ended }: Watch): void {
  if (text !== '') piece();
  const reason = fields?.chunk?.generationInfo?.['finish_reason'];
  if (typeof reason === 'string') ended(reason);
}
