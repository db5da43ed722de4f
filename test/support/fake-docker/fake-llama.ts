/**
 * A small HTTP server that behaves as llama-server does while it loads, serves, and fails; what it does is
 * read from its container's environment and image, as the real one's is.
 */
import type { ServerResponse } from 'node:http';
import { createServer } from 'node:http';

export interface FakeLlama {
  /** Silent from now on, as the processes of a paused container are. */
  pause(): void;
  /** Its sockets break, as those of a killed process do. */
  kill(): Promise<void>;
}

export interface FakeLlamaParts {
  readonly host: string;
  readonly env: ReadonlyMap<string, string>;
  readonly image: string;
  readonly memoryLimit: number;
  readonly print: (line: string) => void;
  /** It ended by itself. */
  readonly ended: (end: { exitCode: number; oom: boolean }) => void;
}

/** A log comes so long after the answer, where it lags. */
const LATE_MS = 50;
/** Less than the program itself takes. */
const TOO_LITTLE = 32 * 1024 * 1024;

const LAG = '';
const LOADED_ON_CPU = [
  '0.00.023.645 I load_tensors:   CPU_Mapped model buffer size =     5.51 MiB',
  '0.00.023.997 I llama_kv_cache:        CPU KV buffer size =    16.00 MiB',
  '0.00.035.342 I sched_reserve:        CPU compute buffer size =     7.52 MiB',
  '0.00.040.428 I srv  llama_server: model loaded',
];
const LOADED_ON_GPU = [
  '0.00.350.275 I load_tensors: offloaded 5/5 layers to GPU',
  '0.00.350.279 I load_tensors:   CPU_Mapped model buffer size =     0.25 MiB',
  // A log that lags shows up to here when the program already answers.
  LAG,
  '0.00.350.280 I load_tensors:      Vulkan0 model buffer size =     5.26 MiB',
  '0.00.368.110 I llama_kv_cache:    Vulkan0 KV buffer size =    16.00 MiB',
  '0.00.440.428 I srv  llama_server: model loaded',
];

/** Null: it ended before it listened. */
export function startFakeLlama(parts: FakeLlamaParts): FakeLlama | null {
  const { env, image, print, ended } = parts;
  const device = env.get('LLAMA_ARG_DEVICE') ?? 'none';
  if (parts.memoryLimit < TOO_LITTLE) return quit(() => ended({ exitCode: 137, oom: true }));
  if (device !== 'none' && !image.includes('vulkan')) {
    print(`error while handling environment variable "LLAMA_ARG_DEVICE": invalid device: ${device}`);
    return quit(() => ended({ exitCode: 1, oom: false }));
  }
  if (env.get('LLAMA_ARG_MODEL')?.endsWith('missing.gguf')) {
    print("0.00.021.122 E srv    load_model: failed to load model, '/models/missing.gguf'");
    print('0.00.021.200 E srv  llama_server: exiting due to model loading error');
    return quit(() => ended({ exitCode: 1, oom: false }));
  }
  return listen(parts, device === 'none' ? LOADED_ON_CPU : LOADED_ON_GPU);
}

function quit(end: () => void): null {
  setImmediate(end);
  return null;
}

function listen({ host, env, image, print }: FakeLlamaParts, loading: readonly string[]): FakeLlama {
  let looks = 0;
  let paused = false;
  const lag = image.includes('late') ? loading.indexOf(LAG) : loading.length;
  const early = loading.slice(0, lag).filter((line) => line !== LAG);
  const late = loading.slice(lag + 1);
  const server = createServer((request, response) => {
    if (paused) return;
    if (request.url === '/health') {
      looks += 1;
      const ready = looks > 2 && !image.includes('silent');
      if (ready) send(response, 200, { status: 'ok' });
      else send(response, 503, { error: { message: 'Loading model', type: 'unavailable_error', code: 503 } });
    } else if (request.headers.authorization !== `Bearer ${env.get('LLAMA_API_KEY')}`) {
      send(response, 401, { error: { message: 'Invalid API Key', type: 'authentication_error', code: 401 } });
    } else if (image.includes('gpu-lost')) {
      send(response, 500, { error: { message: 'Compute error.', type: 'server_error', code: 500 } });
    } else {
      send(response, 200, { choices: [{ text: 'a', finish_reason: 'length' }] });
      response.on('finish', () => setTimeout(() => late.splice(0).forEach(print), LATE_MS));
    }
    request.resume();
  });
  server.listen(Number(env.get('LLAMA_ARG_PORT')), host);
  print(`0.00.019.267 I srv  init_listene: api_keys: ${env.get('LLAMA_API_KEY')}`);
  if (!image.includes('silent')) for (const line of early) print(line);
  return {
    pause() {
      paused = true;
    },
    async kill() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
