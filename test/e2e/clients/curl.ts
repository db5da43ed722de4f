/** curl, as in a shell script. */
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
import { runProgram } from './program.ts';

interface Call {
  readonly index?: number;
  readonly function?: { readonly arguments?: string };
}

interface Said {
  readonly content?: string | null;
  readonly tool_calls?: readonly Call[];
}

interface Event {
  readonly error?: { readonly message: string };
  readonly choices?: readonly { readonly delta: Said; readonly finish_reason: string | null }[];
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
  const whole = async (body: object): Promise<Said> =>
    (JSON.parse(await post(body)) as { choices: [{ message: Said }] }).choices[0].message;
  const streamed = async (body: object, watch: Watch): Promise<Said> => {
    const events: Event[] = [];
    const raw = await post({ ...body, stream: true }, (line) => {
      if (!line.startsWith('data: {')) return;
      const event = JSON.parse(line.slice('data: '.length)) as Event;
      events.push(event);
      tell(event, watch);
    });
    const failed = events.find(({ error }) => error);
    if (failed !== undefined) throw new Error(failed.error?.message);
    if (!raw.trimEnd().endsWith('data: [DONE]')) throw new Error(`no end: ${raw.slice(-200)}`);
    return joined(events);
  };
  const messages = [{ role: 'user', content: PROMPT }];
  return {
    name: 'curl',
    async whole(model) {
      return (await whole({ model, messages, max_tokens: 16 })).content ?? '';
    },
    async stream(model, max_tokens, watch) {
      return (await streamed({ model, messages, max_tokens, ...TO_THE_LIMIT }, watch)).content ?? '';
    },
    tool: async (model) => argumentsOf(await whole(toolBody(model, SHORT)))[0],
    streamedTool: async (model, size, watch) => argumentsOf(await streamed(toolBody(model, size), watch)),
    structured: async (model) => contentOf(await whole(structuredBody(model, SHORT))),
    streamedStructured: async (model, size, watch) =>
      contentOf(await streamed(structuredBody(model, size), watch)),
  };
}

function toolBody(model: string, { steps, tokens }: Size) {
  return {
    ...{
      model,
      temperature: TEMPERATURE,
      max_tokens: tokens,
      tool_choice: 'required',
      parallel_tool_calls: false,
      stop: AFTER_A_CALL,
    },
    messages: [
      { role: 'user', content: PROMPT },
      { role: 'assistant', content: BEGUN_CALL },
    ],
    tools: [{ type: 'function', function: scene(steps) }],
  };
}

function structuredBody(model: string, { steps, tokens }: Size) {
  return {
    ...{ model, temperature: TEMPERATURE, max_tokens: tokens, messages: [{ role: 'user', content: PROMPT }] },
    response_format: {
      type: 'json_schema',
      json_schema: { name: 'reply', strict: true, schema: reply(steps) },
    },
  };
}

function tell({ choices = [] }: Event, { piece, ended }: Watch): void {
  const [choice] = choices;
  if (choice?.delta.content || choice?.delta.tool_calls) piece();
  if (choice?.finish_reason) ended(choice.finish_reason);
}

/** The message that the deltas make. */
function joined(events: readonly Event[]): Said {
  let content = '';
  const calls = new Map<number, string>();
  for (const { choices = [] } of events) {
    content += choices[0]?.delta.content ?? '';
    for (const { index = 0, function: called } of choices[0]?.delta.tool_calls ?? []) {
      calls.set(index, (calls.get(index) ?? '') + (called?.arguments ?? ''));
    }
  }
  return { content, tool_calls: [...calls.values()].map((text) => ({ function: { arguments: text } })) };
}

const argumentsOf = ({ tool_calls = [] }: Said): unknown[] =>
  tool_calls.map((call) => JSON.parse(call.function?.arguments ?? 'null'));

const contentOf = ({ content }: Said): unknown => JSON.parse(content ?? 'null');
