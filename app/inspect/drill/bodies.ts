/** What a drill sends: chat requests that are long enough for a failure to find them under way. Pure. */
import type { Sent } from './scenarios.ts';

export interface BodyOptions {
  readonly model: string;
  readonly stream: boolean;
  /** Tokens of the answer. */
  readonly tokens: number;
  /** Tokens that fit into all slots of the model together. */
  readonly context: number;
}

/** Larger than any allocator keeps in reserve, smaller than the largest body. */
const LARGE_BODY = 12 * 1024 * 1024;
/** One dot. */
const PICTURE =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const TOOL_ITEMS = 60;

export function drillBody(sent: Sent, options: BodyOptions): string {
  const { model, stream, tokens } = options;
  const common = { model, stream, max_tokens: tokens, temperature: 0 };
  const say = (content: unknown) => [{ role: 'user', content }];
  switch (sent) {
    case 'long_answer':
      return text({ ...common, ignore_eos: true, messages: say('Count from one to one hundred in words.') });
    case 'large_body':
      return text({
        ...common,
        ignore_eos: true,
        messages: say('Count from one to one hundred in words.'),
        // Read whole by the backend, and then ignored.
        metadata: { llamastead_drill: 'x'.repeat(LARGE_BODY) },
      });
    case 'long_prompt':
      return text({ ...common, messages: say('word '.repeat(Math.ceil(options.context * 1.25))) });
    case 'image':
      return text({
        ...common,
        messages: say([
          { type: 'text', text: 'What is in this picture?' },
          { type: 'image_url', image_url: { url: PICTURE } },
        ]),
      });
    case 'tool_call':
      return text({
        ...common,
        tools: [TOOL],
        tool_choice: 'required',
        // So that a second call in an answer can only be one that was made again.
        parallel_tool_calls: false,
        messages: say('Set all lights of the house.'),
      });
  }
}

/** Its arguments are long, so that a call takes its time. */
const TOOL = {
  type: 'function',
  function: {
    name: 'set_lights',
    description: 'Sets the brightness of all lights.',
    parameters: {
      type: 'object',
      properties: {
        levels: {
          type: 'array',
          items: { type: 'integer' },
          minItems: TOOL_ITEMS,
          maxItems: TOOL_ITEMS,
        },
      },
      required: ['levels'],
    },
  },
};

function text(body: Readonly<Record<string, unknown>>): string {
  return JSON.stringify(body);
}
