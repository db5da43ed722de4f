/** Vercel's AI SDK. */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, jsonSchema, Output, streamText, tool } from 'ai';
import { BEGUN_CALL } from '../../support/tool-template.ts';
import { type ApiClient, LIGHT, LONG, PROMPT, REPLY, TO_THE_LIMIT } from './client.ts';

export function vercelAi(url: string): ApiClient {
  const provider = createOpenAICompatible({
    ...{ name: 'llamastead', baseURL: `${url}/v1`, supportsStructuredOutputs: true },
  });
  return {
    name: 'Vercel AI SDK',
    async whole(model) {
      return (await generateText({ model: provider(model), prompt: PROMPT, maxOutputTokens: 16 })).text;
    },
    async stream(model, first) {
      let text = '';
      const { textStream } = streamText({
        ...{ model: provider(model), prompt: PROMPT, maxOutputTokens: LONG },
        providerOptions: { llamastead: TO_THE_LIMIT },
        onError: ({ error }) => {
          throw error;
        },
      });
      for await (const piece of textStream) {
        if (text === '') first();
        text += piece;
      }
      return text;
    },
    async tool(model) {
      const { toolCalls } = await generateText({
        ...{ model: provider(model), maxOutputTokens: 100, toolChoice: 'required' },
        messages: [
          { role: 'user', content: PROMPT },
          { role: 'assistant', content: BEGUN_CALL },
        ],
        tools: {
          set_light: tool({ description: LIGHT.description, inputSchema: jsonSchema(LIGHT.parameters) }),
        },
      });
      return toolCalls[0]?.input;
    },
    async structured(model) {
      const { output } = await generateText({
        ...{ model: provider(model), prompt: PROMPT, maxOutputTokens: 200 },
        output: Output.object({ schema: jsonSchema(REPLY) }),
      });
      return output;
    },
  };
}
