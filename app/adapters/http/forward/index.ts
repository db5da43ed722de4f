/**
 * The forwarding half of the HTTP edge: the model API. The handler is plain `node:http`, so it can be
 * mounted in express or called before it.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RequestId } from '../../../core/request.ts';
import { ownError } from '../errors.ts';
import { keyedAnswers } from '../keyed/index.ts';
import { idempotencyKeyOf } from '../keyed/key.ts';
import { refuseBody } from '../linger.ts';
import { alarms } from './alarms.ts';
import { sendOwn } from './answer.ts';
import { givenPriority } from './background.ts';
import { readBody, readFields } from './body.ts';
import { bodyRoom, type Place } from './body-room.ts';
import type { Call, Shared } from './call.ts';
import { callerOf, clientOf } from './client.ts';
import { connections } from './connections.ts';
import { exchange } from './exchange.ts';
import { deadlineOf, drillMark, neverReplay, requestIdOf } from './headers.ts';
import { answerModels } from './models.ts';
import type { ForwardSettings, ModelApi, ModelApiOptions } from './options.ts';
import { PROTOCOLS, type Protocol } from './protocols.ts';

export type {
  CatalogModel,
  ForwardLog,
  ForwardMetrics,
  ForwardSettings,
  Handler,
  ModelApi,
  ModelApiOptions,
  RequestMeasurement,
  Target,
} from './options.ts';

const NO_ROOM = 'The bodies of requests that wait or run leave no room for another large one.';
const NO_ROOM_RETRY_S = 5;

/** Makes the model API; see `ModelApi` for what it does. */
export function modelApi(options: ModelApiOptions): ModelApi {
  const deadlines = alarms(options.clock);
  const shared: Shared = {
    options,
    connections: connections({ ...options, alarms: deadlines }),
    alarms: deadlines,
    bodyRoom: bodyRoom(),
    keyed: keyedAnswers({
      clock: options.clock,
      alarms: deadlines,
      told: (outcome) => options.metrics.keyed(outcome),
    }),
    templates: new Map(),
  };
  const nextId = options.nextId ?? counter();
  return {
    handler(req, res, next) {
      const url = req.originalUrl ?? req.url ?? '';
      if (!url.startsWith('/v1/')) {
        next();
        return;
      }
      const query = url.indexOf('?');
      const path = query < 0 ? url : url.slice(0, query);
      const protocol = PROTOCOLS.get(path);
      if (protocol === undefined) answerModels(options.catalog(), req, res, path);
      else if (req.method !== 'POST') onlyPost(req, res, path, protocol);
      else receive(shared, req, res, { path, protocol, settings: options.settings(), id: nextId() });
    },
    closeConnections: shared.connections.close,
    hurry: shared.keyed.hurry,
    close() {
      shared.connections.closeAll();
      shared.alarms.close();
    },
  };
}

function counter(): () => RequestId {
  let last = 0;
  return () => {
    last += 1;
    return last;
  };
}

interface Received {
  readonly path: string;
  readonly protocol: Protocol;
  readonly settings: ForwardSettings;
  readonly id: RequestId;
}

/** Reads and checks the request, then runs it. */
function receive(shared: Shared, req: IncomingMessage, res: ServerResponse, received: Received): void {
  const { protocol, settings } = received;
  const receivedAt = shared.options.clock.now().mono;
  const requestId = requestIdOf(req.headers);
  const invalid = (message: string) => refuse(res, protocol, 'invalid_request', message, requestId);
  const given = idempotencyKeyOf(req.headers);
  const wrong = wrongHeader(req) ?? (given.ok ? null : given.message);
  if (wrong !== null) {
    invalid(wrong);
    return;
  }
  const place = shared.bodyRoom.take(req, settings.bodyLimit);
  place?.until(res);
  if (place === null) {
    const error = ownError('capacity', NO_ROOM, requestId, { retryAfter: NO_ROOM_RETRY_S });
    refuseBody(req, res, error, protocol.errorBody(error));
    return;
  }
  const bounds = { limit: settings.bodyLimit, clock: shared.options.clock, alarms: shared.alarms };
  readBody(req, bounds, (body) => {
    if (!Buffer.isBuffer(body)) {
      const error = ownError(body.code, body.message, requestId);
      refuseBody(req, res, error, protocol.errorBody(error));
      return;
    }
    const read = readFields(body, req.headers);
    if (!read.ok) {
      invalid(read.message);
      return;
    }
    const call: Asked = {
      ...received,
      requestId,
      receivedAt,
      body,
      fields: read.fields,
      neverReplay: neverReplay(req.headers),
      drill: isDrill(shared, req),
      client: clientOf(req, read.fields.user, settings.keysChecked),
      deadlineMs: deadlineOf(req.headers).ms,
    };
    if (given.key === null) exchange(shared, { ...call, res });
    else runKeyed(shared, call, given.key, place, req, res);
  });
}

/** A request that was read, without what its answer is written to. */
type Asked = Omit<Call, 'res'>;

/** Runs it unless its key has an answer; its body keeps its place for as long as it runs. */
function runKeyed(
  shared: Shared,
  call: Asked,
  key: string,
  place: Place,
  { headers }: IncomingMessage,
  res: ServerResponse,
): void {
  const namesItself = call.requestId === headers['x-request-id'];
  shared.keyed.ask({ ...call, key, caller: callerOf(call.client), namesItself, res }, (wire) => {
    place.until(wire);
    exchange(shared, { ...call, res: wire });
  });
}

function isDrill({ options }: Shared, { headers }: IncomingMessage): boolean {
  const mark = drillMark(headers);
  return mark !== null && options.isDrill?.(mark) === true;
}

function refuse(
  res: ServerResponse,
  protocol: Protocol,
  code: string,
  message: string,
  requestId: string,
): void {
  const error = ownError(code, message, requestId);
  sendOwn(res, protocol.errorBody(error), error);
}

/** What is wrong with a header that the edge obeys; null: nothing. */
function wrongHeader({ headers }: IncomingMessage): string | null {
  if (!deadlineOf(headers).ok) return 'Llamastead-Deadline must be a duration such as 500ms, 60s or 5m.';
  if (givenPriority(headers) === undefined) return 'Llamastead-Priority must be background or normal.';
  const encoding = headers['content-encoding'];
  if (encoding === undefined || encoding === 'identity') return null;
  return `A body with Content-Encoding ${encoding.slice(0, 40)} is not read; send it as it is.`;
}

function onlyPost(req: IncomingMessage, res: ServerResponse, path: string, protocol: Protocol): void {
  res.setHeader('Allow', 'POST');
  refuse(res, protocol, 'method_not_allowed', `${path} takes POST only.`, requestIdOf(req.headers));
}
