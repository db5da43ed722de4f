/** Chat requests as bytes, made once for each target. */
import { type Directive, directiveText } from '../stub/directive.ts';
import type { Target } from '../targets/target.ts';

export interface ChatShape {
  readonly stream: boolean;
  readonly directive: Partial<Directive>;
  /** A picture of so many bytes is in the body. */
  readonly pictureBytes?: number;
}

const PIXELS = 'iVBORw0KGgoAAAANSUhEUgAA';
const made = new Map<string, Buffer>();

export function chatRequest(target: Target, shape: ChatShape): Buffer {
  const key = `${target.url} ${JSON.stringify(shape)}`;
  const known = made.get(key);
  if (known !== undefined) return known;
  const bytes = make(target, shape);
  made.set(key, bytes);
  return bytes;
}

function make({ url, model }: Target, { stream, directive, pictureBytes = 0 }: ChatShape): Buffer {
  const text = `Say hello. ${directiveText(directive)}`;
  const picture = `data:image/png;base64,${PIXELS.repeat(Math.ceil(pictureBytes / PIXELS.length))}`;
  const content =
    pictureBytes === 0
      ? text
      : [
          { type: 'text', text },
          { type: 'image_url', image_url: { url: picture } },
        ];
  const body = JSON.stringify({ model, stream, max_tokens: 8, messages: [{ role: 'user', content }] });
  const lines = [
    'POST /v1/chat/completions HTTP/1.1',
    `Host: ${new URL(url).host}`,
    'Content-Type: application/json',
    `Accept: ${stream ? 'text/event-stream' : 'application/json'}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`);
}
