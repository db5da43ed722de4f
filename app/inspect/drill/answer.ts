/** Reads an answer of a chat request as it comes, and says what a client could see of it. Pure. */

export type AnswerEnd =
  /** Status 200 and, in a stream, its end mark. */
  | 'whole'
  /** An explicit error: by status, or in the stream. */
  | 'error'
  /** Neither: the connection ended before. */
  | 'cut'
  /** The client left on purpose. */
  | 'left'
  /** It did not end in time. */
  | 'late';

export interface SeenError {
  readonly code: string;
  readonly message: string;
}

export interface AnswerReader {
  /** Whether this piece brought new content. */
  take(piece: string): boolean;
  /** What was seen; `ended`: the connection gave the whole answer. */
  seen(ended: boolean): SeenAnswer;
}

export interface SeenAnswer {
  readonly end: Extract<AnswerEnd, 'whole' | 'error' | 'cut'>;
  readonly error: SeenError | null;
  /** Content pieces of a stream; 1 for a whole answer. */
  readonly pieces: number;
  readonly toolCalls: number;
  /** The largest attempt that a comment of the stream named. */
  readonly attempt: number | null;
  /** Content came before that comment. */
  readonly continued: boolean;
  /** Tokens a second that the backend told; null: it did not. */
  readonly speed: number | null;
}

export function answerReader(status: number, stream: boolean): AnswerReader {
  return stream && status === 200 ? streamReader() : wholeReader(status);
}

function wholeReader(status: number): AnswerReader {
  let text = '';
  return {
    take(piece) {
      const first = text === '';
      text += piece;
      return first && status === 200;
    },
    seen(ended) {
      const body = parsed(text);
      const error = errorOf(body);
      const good = ended && status === 200 && body !== null && error === null;
      return {
        end: good ? 'whole' : ended && error !== null ? 'error' : 'cut',
        error,
        pieces: good ? 1 : 0,
        toolCalls: list(messageOf(body)?.['tool_calls']).length,
        attempt: null,
        continued: false,
        speed: number(object(body?.['timings'])?.['predicted_per_second']),
      };
    },
  };
}

/** A piece without an id goes on with the call of its index; a call that is made again has a new id. */
function toolCallCounter() {
  const seen = new Set<string>();
  const ids = new Map<number, string>();
  return {
    take(call: Fields | null): void {
      const index = number(call?.['index']) ?? 0;
      const id = call?.['id'];
      if (isText(id)) ids.set(index, id);
      seen.add(`${index} ${ids.get(index) ?? ''}`);
    },
    count: () => seen.size,
  };
}

const SEAM = ': llamastead attempt=';

function streamReader(): AnswerReader {
  let pending = '';
  let pieces = 0;
  let done = false;
  let error: SeenError | null = null;
  let attempt: number | null = null;
  let continued = false;
  const calls = toolCallCounter();

  function line(text: string): void {
    if (text.startsWith(SEAM)) {
      attempt = Number.parseInt(text.slice(SEAM.length), 10);
      continued = pieces > 0;
    }
    if (!text.startsWith('data:')) return;
    const data = text.slice(5).trim();
    if (data === '[DONE]') {
      done = true;
      return;
    }
    const event = parsed(data);
    error ??= errorOf(event);
    const delta = object(object(list(event?.['choices'])[0])?.['delta']);
    const called = list(delta?.['tool_calls']);
    for (const call of called) calls.take(object(call));
    if (called.length > 0 || isText(delta?.['content']) || isText(delta?.['reasoning_content'])) pieces += 1;
  }

  return {
    take(piece) {
      const before = pieces;
      const lines = (pending + piece).split('\n');
      pending = lines.pop() ?? '';
      for (const each of lines) line(each);
      return pieces > before;
    },
    seen(ended) {
      const end = error !== null ? 'error' : done && ended ? 'whole' : 'cut';
      return { end, error, pieces, toolCalls: calls.count(), attempt, continued, speed: null };
    },
  };
}

type Fields = Readonly<Record<string, unknown>>;

function messageOf(body: Fields | null): Fields | null {
  return object(object(list(body?.['choices'])[0])?.['message']);
}

function errorOf(body: Fields | null): SeenError | null {
  const error = object(body?.['error']);
  if (error === null) return null;
  return { code: String(error['code'] ?? error['type'] ?? ''), message: String(error['message'] ?? '') };
}

function parsed(text: string): Fields | null {
  try {
    return object(JSON.parse(text));
  } catch {
    return null;
  }
}

function object(value: unknown): Fields | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : null;
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function number(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
