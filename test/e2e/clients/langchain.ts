/** LangChain's ChatOpenAI. */
import { AIMessage, HumanMessage } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import { BEGUN_CALL } from '../../support/tool-template.ts';
import { type ApiClient, LIGHT, LONG, PROMPT, REPLY, TO_THE_LIMIT } from './client.ts';

export function langchain(url: string): ApiClient {
  const chat = (model: string, maxTokens: number, modelKwargs = {}) =>
    new ChatOpenAI({
      model,
      maxTokens,
      apiKey: 'none',
      configuration: { baseURL: `${url}/v1` },
      modelKwargs,
    });
  return {
    name: 'LangChain ChatOpenAI',
    async whole(model) {
      return (await chat(model, 16).invoke(PROMPT)).text;
    },
    async stream(model, first) {
      let text = '';
      for await (const chunk of await chat(model, LONG, TO_THE_LIMIT).stream(PROMPT)) {
        if (text === '' && chunk.text !== '') first();
        text += chunk.text;
      }
      return text;
    },
    async tool(model) {
      const { tool_calls } = await chat(model, 100)
        .bindTools([{ type: 'function', function: LIGHT }], { tool_choice: 'required' })
        .invoke([new HumanMessage(PROMPT), new AIMessage(BEGUN_CALL)]);
      return tool_calls?.[0]?.args;
    },
    async structured(model) {
      const schema = { title: 'reply', ...REPLY };
      return chat(model, 200).withStructuredOutput(schema, { method: 'jsonSchema' }).invoke(PROMPT);
    },
  };
}
