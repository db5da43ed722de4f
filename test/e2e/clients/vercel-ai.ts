/** Vercel's AI SDK. */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, jsonSchema, Output, streamText, type TextStreamPart, type ToolSet, tool } from 'ai';
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

export function vercelAi(url: string): ApiClient {
  const provider = createOpenAICompatible({
    ...{ name: 'llamastead', baseURL: `${url}/v1`, supportsStructuredOutputs: true },
  });
  const quiet = { onError() {} };
  const toolCall = (model: string, { steps, tokens }: Size) => {
    const { description, parameters } = scene(steps);
    const tools: ToolSet = {
      set_scene: tool({ description, inputSchema: jsonSchema<Record<string, unknown>>(parameters) }),
    };
    return {
      ...{
        model: provider(model),
        maxOutputTokens: tokens,
        temperature: TEMPERATURE,
        toolChoice: 'required' as const,
      },
      stopSequences: AFTER_A_CALL,
      providerOptions: { llamastead: { parallel_tool_calls: false } },
      messages: [
        { role: 'user' as const, content: PROMPT },
        { role: 'assistant' as const, content: BEGUN_CALL },
      ],
      tools,
    };
  };
  const object = (model: string, { steps, tokens }: Size) => ({
    ...{ model: provider(model), prompt: PROMPT, maxOutputTokens: tokens, temperature: TEMPERATURE },
    output: Output.object({ schema: jsonSchema(reply(steps)) }),
  });
  return {
    name: 'Vercel AI SDK',
    async whole(model) {
      return (await generateText({ model: provider(model), prompt: PROMPT, maxOutputTokens: 16 })).text;
    },
    async stream(model, tokens, watch) {
      const result = streamText({
        ...{ model: provider(model), prompt: PROMPT, maxOutputTokens: tokens, ...quiet },
        providerOptions: { llamastead: TO_THE_LIMIT },
      });
      await watched(result.fullStream, watch);
      return result.text;
    },
    async tool(model) {
      return (await generateText(toolCall(model, SHORT))).toolCalls[0]?.input;
    },
    async streamedTool(model, size, watch) {
      const result = streamText({ ...toolCall(model, size), ...quiet });
      await watched(result.fullStream, watch);
      return (await result.toolCalls).map(({ input }) => input);
    },
    async structured(model) {
      return (await generateText(object(model, SHORT))).output;
    },
    async streamedStructured(model, size, watch) {
      const result = streamText({ ...object(model, size), ...quiet });
      await watched(result.fullStream, watch);
      return result.output;
    },
  };
}

/** @throws what the stream ended with, where that is an error */
async function watched<T extends ToolSet>(
  parts: AsyncIterable<TextStreamPart<T>>,
  { piece, ended }: Watch,
): Promise<void> {
  for await (const part of parts) {
    if (part.type === 'text-delta' || part.type === 'tool-input-delta') piece();
    if (part.type === 'finish') ended(part.finishReason);
    if (part.type === 'error') throw part.error;
  }
}
