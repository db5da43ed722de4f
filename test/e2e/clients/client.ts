/** What a client library has to do through a failover, in the words that all of them share. */
export interface ApiClient {
  readonly name: string;
  /** A whole answer: its text. */
  whole(model: string): Promise<string>;
  /** A streamed answer: its text; `first` is called at the first piece of it. */
  stream(model: string, first: () => void): Promise<string>;
  /** A call of the tool `set_light`, which is begun for the model: its arguments. */
  tool(model: string): Promise<unknown>;
  /** An answer of the schema of `reply`. */
  structured(model: string): Promise<unknown>;
}

export const PROMPT = 'Tell me of the garden.';

/** Tokens of a streamed answer: long enough to be cut, on a busy machine too. */
export const LONG = 600;
/** Its text does not end before; llama-server takes this beside OpenAI's fields. */
export const TO_THE_LIMIT = { ignore_eos: true } as const;

export const LIGHT = {
  name: 'set_light',
  description: 'Switches a lamp',
  parameters: {
    type: 'object',
    properties: { lamp: { type: 'string', enum: ['kitchen', 'hall'] }, on: { type: 'boolean' } },
    required: ['lamp', 'on'],
    additionalProperties: false,
  },
} as const;

export const REPLY = {
  type: 'object',
  properties: { mood: { type: 'string', enum: ['calm', 'gay'] } },
  required: ['mood'],
  additionalProperties: false,
} as const;
