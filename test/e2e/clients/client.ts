/** What a client library has to do through a failover, in the words that all of them share. */
export interface ApiClient {
  readonly name: string;
  /** A whole answer: its text. */
  whole(model: string): Promise<string>;
  /** A streamed answer: its text. */
  stream(model: string, tokens: number, watch: Watch): Promise<string>;
  /** The call of the tool, which is begun for the model: its arguments. */
  tool(model: string): Promise<unknown>;
  /** The same, streamed: the arguments of every call of the answer. */
  streamedTool(model: string, size: Size, watch: Watch): Promise<readonly unknown[]>;
  /** An answer of the schema of the reply. */
  structured(model: string): Promise<unknown>;
  streamedStructured(model: string, size: Size, watch: Watch): Promise<unknown>;
  close?(): Promise<void>;
}

/** How a stream comes, as the library tells it. */
export interface Watch {
  /** With each piece of text, of a tool call or of an object. */
  piece(): void;
  /** With the reason why the model ended. */
  ended(reason: string): void;
}

/** Of the arguments of a tool or of a reply: the length of its list, and what it may take. */
export interface Size {
  readonly steps: number;
  readonly tokens: number;
}

export const PROMPT = 'Tell me of the garden.';
export const SHORT: Size = { steps: 4, tokens: 600 };
/** Nothing is left to chance. */
export const TEMPERATURE = 0;
/** The model would begin one call after another; llama-server heeds this only where `parallel_tool_calls` is false. */
export const AFTER_A_CALL = ['</tool_call>'];
/** Its text does not end before; llama-server takes this beside OpenAI's fields. */
export const TO_THE_LIMIT = { ignore_eos: true } as const;

/** A tool whose arguments are of this length. */
export const scene = (steps: number) => ({
  name: 'set_scene',
  description: 'Switches the lamps of a room',
  parameters: {
    type: 'object' as const,
    properties: { room: { type: 'string', enum: ['kitchen', 'hall'] }, lamps: switches(steps) },
    required: ['room', 'lamps'],
    additionalProperties: false,
  },
});

/** A schema of an answer of this length. */
export const reply = (steps: number) => ({
  type: 'object' as const,
  properties: { mood: { type: 'string', enum: ['calm', 'gay'] }, nights: switches(steps) },
  required: ['mood', 'nights'],
  additionalProperties: false,
});

const switches = (count: number) => ({
  ...{ type: 'array', items: { type: 'boolean' }, minItems: count, maxItems: count },
});
