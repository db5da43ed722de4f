/** Home Assistant's own API, as far as the bench needs it: REST for services, WebSocket for the rest. */

export interface State {
  readonly entity_id: string;
  readonly state: string;
  readonly attributes: Readonly<Record<string, unknown>>;
}

export interface HomeAssistantApi {
  /** A WebSocket command. Rejects with Home Assistant's own message. */
  command(type: string, fields?: Record<string, unknown>): Promise<unknown>;
  /** REST, JSON both ways. Rejects with status and body. */
  rest(method: 'GET' | 'POST', path: string, body?: unknown): Promise<unknown>;
  service(name: string, entity: string, data?: Record<string, unknown>): Promise<void>;
  /** The newest state of an entity; undefined where there is none. */
  state(entity: string): State | undefined;
  /** Resolves at once or at the change of any state that makes it true; rejects after two minutes, saying `what`. */
  until<T>(what: string, check: () => T | undefined | false): Promise<T>;
  close(): void;
}

/** Milliseconds that a change may take to arrive on a busy machine. */
const PATIENCE = 120_000;

type Message = Readonly<Record<string, unknown>>;

/** Signs in and follows all states. */
export async function homeAssistantApi(url: string, token: string): Promise<HomeAssistantApi> {
  const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/api/websocket`);
  const answers = new Map<number, (message: Message) => void>();
  const states = new Map<string, State>();
  const checks = new Set<() => void>();
  let last = 0;
  const signedIn = Promise.withResolvers<void>();
  socket.addEventListener('error', () => signedIn.reject(new Error(`${url} broke the connection`)));
  socket.addEventListener('message', ({ data }) => {
    const message: Message = JSON.parse(String(data));
    if (message['type'] === 'auth_required')
      socket.send(JSON.stringify({ type: 'auth', access_token: token }));
    if (message['type'] === 'auth_ok') signedIn.resolve();
    if (message['type'] === 'auth_invalid') signedIn.reject(new Error(String(message['message'])));
    if (message['type'] === 'result') answers.get(Number(message['id']))?.(message);
    if (message['type'] === 'event') stateChanged(message, states, checks);
  });
  await signedIn.promise;
  const command = (type: string, fields: Record<string, unknown> = {}) => {
    const id = ++last;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    answers.set(id, (message) => {
      answers.delete(id);
      if (message['success'] === true) resolve(message['result']);
      else reject(new Error(`${type}: ${JSON.stringify(message['error'])}`));
    });
    socket.send(JSON.stringify({ id, type, ...fields }));
    return promise;
  };
  await command('subscribe_events', { event_type: 'state_changed' });
  for (const state of (await command('get_states')) as State[]) states.set(state.entity_id, state);
  const rest = (method: 'GET' | 'POST', path: string, body?: unknown) =>
    restCall({ url, token }, method, path, body);
  return {
    command,
    rest,
    async service(name, entity, data = {}) {
      await rest('POST', `/api/services/${name.replace('.', '/')}`, { entity_id: entity, ...data });
    },
    state: (entity) => states.get(entity),
    until: (what, check) => until(checks, what, check),
    close: () => socket.close(),
  };
}

/** Asks again at each change of a state. */
function until<T>(checks: Set<() => void>, what: string, check: () => T | undefined | false): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const look = () => {
    const found = check();
    if (found !== undefined && found !== false) resolve(found);
  };
  const timer = setTimeout(() => reject(new Error(`not within ${PATIENCE / 1000} s: ${what}`)), PATIENCE);
  checks.add(look);
  look();
  return promise.finally(() => {
    clearTimeout(timer);
    checks.delete(look);
  });
}

function stateChanged(message: Message, states: Map<string, State>, checks: Set<() => void>): void {
  const event = message['event'] as { data: { entity_id: string; new_state: State | null } };
  const { entity_id, new_state } = event.data;
  if (new_state === null) states.delete(entity_id);
  else states.set(entity_id, new_state);
  for (const check of checks) check();
}

async function restCall(
  { url, token }: { url: string; token: string },
  method: string,
  path: string,
  body: unknown,
): Promise<unknown> {
  const response = await fetch(url + path, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return JSON.parse(text);
}
