/**
 * A fast upstream in llama-server's place: it costs so little that what is measured is the forwarding. It
 * reads llama-server's own variables, prints the lines that tell where a model was placed, and answers as
 * the directive in a request says.
 */
import net from 'node:net';
import { answersFor, jsonAnswer } from './answers.ts';
import { type Directive, directiveIn } from './directive.ts';
import { requestReader, type StubRequest } from './requests.ts';

const placement = (process.env['LLAMA_ARG_DEVICE'] ?? 'none') === 'none' ? 'cpu' : 'gpu';

const LOADED = {
  cpu: [
    'load_tensors:   CPU_Mapped model buffer size =     5.51 MiB',
    'llama_kv_cache:        CPU KV buffer size =    16.00 MiB',
    'sched_reserve:        CPU compute buffer size =     7.52 MiB',
  ],
  gpu: [
    'load_tensors: offloaded 5/5 layers to GPU',
    'load_tensors:   CPU_Mapped model buffer size =     0.25 MiB',
    'load_tensors:      Vulkan0 model buffer size =     5.26 MiB',
    'llama_kv_cache:    Vulkan0 KV buffer size =    16.00 MiB',
    'sched_reserve:    Vulkan0 compute buffer size =     6.01 MiB',
  ],
};

const FIXED: Readonly<Record<string, Buffer>> = {
  '/health': jsonAnswer('{"status":"ok"}'),
  '/v1/completions': jsonAnswer('{"choices":[{"text":"a","index":0,"finish_reason":"length"}]}'),
  '/v1/models': jsonAnswer('{"object":"list","data":[{"id":"stub","object":"model"}]}'),
  '/props': jsonAnswer('{"total_slots":64,"model_path":"/models/stub.gguf","build_info":"b11669-stub"}'),
  '/slots': jsonAnswer('[{"id":0,"n_ctx":4096,"is_processing":false}]'),
  '/apply-template': jsonAnswer('{"prompt":"stub"}'),
  '/tokenize': jsonAnswer('{"tokens":[1,2,3]}'),
};
const NOT_FOUND = jsonAnswer('{"error":{"code":404,"message":"File Not Found"}}', '404 Not Found');
const MARKS_HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nConnection: close\r\n\r\n';

const listeners = new Set<net.Socket>();

/** Tells who listens on /stub/marks what happened, in ms of the clock that all processes of a machine share. */
function mark(what: 'arrival' | 'reset', id: string): void {
  if (listeners.size === 0) return;
  const at = Number(process.hrtime.bigint()) / 1e6;
  for (const listener of listeners) listener.write(`${JSON.stringify({ what, id, placement, at })}\n`);
}

function chat(socket: net.Socket, body: Buffer): void {
  const directive = directiveIn(body);
  mark('arrival', directive.id);
  if (directive.hang === placement) return;
  if (directive.reset === placement) {
    mark('reset', directive.id);
    socket.resetAndDestroy();
    return;
  }
  const answers = answersFor(directive.chunks, directive.seed);
  if (asksForStream(body)) stream(socket, directive);
  else socket.write(answers.whole);
}

/** Clients and proxies put it near one of the ends. */
function asksForStream(body: Buffer): boolean {
  const text = body.length <= 800 ? body.toString('latin1') : ends(body);
  return /"stream": ?true/.test(text);
}

function ends(body: Buffer): string {
  return body.toString('latin1', 0, 400) + body.toString('latin1', body.length - 400);
}

/** Events at their times from the start; one that is late does not delay the next. */
function stream(socket: net.Socket, { chunks, seed, interval }: Directive): void {
  const { head, events } = answersFor(chunks, seed);
  const start = performance.now();
  socket.write(head);
  let next = 0;
  const step = (): void => {
    while (next < events.length && !socket.destroyed) {
      const wait = interval > 0 && next <= chunks ? start + next * interval - performance.now() : 0;
      if (wait > 0.5) {
        setTimeout(step, Math.round(wait));
        return;
      }
      socket.write(events[next] ?? '');
      next += 1;
    }
  };
  step();
}

function answer(socket: net.Socket, { path, body }: StubRequest): void {
  if (path === '/v1/chat/completions') chat(socket, body);
  else if (path === '/stub/marks') {
    socket.write(MARKS_HEAD);
    listeners.add(socket);
    socket.once('close', () => listeners.delete(socket));
  } else socket.write(FIXED[path] ?? NOT_FOUND);
}

const server = net.createServer({ noDelay: true }, (socket) => {
  const read = requestReader((request) => answer(socket, request));
  socket.on('data', read);
  socket.on('error', () => {});
});
server.listen(
  Number(process.env['LLAMA_ARG_PORT'] ?? 8080),
  process.env['LLAMA_ARG_HOST'] ?? '127.0.0.1',
  () => {
    for (const line of LOADED[placement]) console.log(line);
    console.log('llama_server: model loaded');
  },
);
process.on('SIGTERM', () => process.exit(0));
