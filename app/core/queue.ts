/**
 * The line of a model: who is next. What had its turn before (a replay) stays at the head. After it the clients
 * take turns, so that one with many requests cannot hold up another one, and background work stands behind chat.
 */
import type { Request, RequestId } from './request.ts';
import { instancesOf, type State } from './state.ts';
import type { Now } from './types.ts';

/** Background work has waited long enough when this part of its time is over: then it is as any other. */
const PATIENCE = 0.5;

/**
 * The model's waiting requests in the order in which they would be granted if no answer ended meanwhile.
 *
 * Among clients the one with the fewest running requests is next, and among equals the one that has waited
 * longest for its turn: by its oldest request, or by its last turn where that was later. So a client waits for
 * one turn of each other client at most, whatever those have waiting, and nobody starves: newcomers line up
 * behind it. Time and space are O(n log n) of the n that wait.
 */
export function queueOrder(state: State, model: string, now: Now): Request[] {
  const head: Request[] = [];
  const chat: Request[] = [];
  const background: Request[] = [];
  for (const id of state.waiting) {
    const request = state.requests.get(id);
    if (request === undefined || request.model !== model || request.phase.phase !== 'waiting') continue;
    if (request.phase.head) head.push(request);
    else if (standsBehind(request, now)) background.push(request);
    else chat.push(request);
  }
  if (head.length + background.length === 0 && isOneClient(chat)) return chat;
  head.sort((a, b) => a.id - b.id);
  const line: Line = { order: [], running: runningByClient(state, model), turns: new Map() };
  for (const request of head) take(line, request);
  takeTurns(line, chat);
  takeTurns(line, background);
  return line.order;
}

/** Place in its line by request, 1 for the next one. */
export function queuePositions(state: State, model: string, now: Now): Map<RequestId, number> {
  return new Map(queueOrder(state, model, now).map(({ id }, index) => [id, index + 1]));
}

/** Place of one request in its line, 1 for the next one; null: it does not wait. */
export function queuePosition(state: State, id: RequestId, now: Now): number | null {
  const request = state.requests.get(id);
  if (request?.phase.phase !== 'waiting') return null;
  return queueOrder(state, request.model, now).indexOf(request) + 1;
}

/**
 * The request that makes room for one more in a full line: background work for a chat; else the newest of the
 * client that holds the most places, if it has at least two more than the newcomer's client has. Null: there is
 * none, and the newcomer is refused. Requests at the head have been promised their turn and stay; a drill's take no
 * place that could be given.
 */
export function givesWay(
  state: State,
  arrived: { readonly model: string; readonly client: string; readonly background: boolean },
  now: Now,
): Request | null {
  const line = queueOrder(state, arrived.model, now).filter(
    ({ phase, drill }) => phase.phase === 'waiting' && !phase.head && !drill,
  );
  const last = line.at(-1);
  if (!arrived.background && last?.background) return last;
  const counts = new Map<string, number>();
  for (const { client } of line) counts.set(client, (counts.get(client) ?? 0) + 1);
  const most = Math.max(0, ...counts.values());
  if (most < (counts.get(arrived.client) ?? 0) + 2) return null;
  return line.findLast(({ client }) => counts.get(client) === most) ?? null;
}

function standsBehind(request: Request, now: Now): boolean {
  return request.background && now.mono < request.receivedAt + request.patienceMs * PATIENCE;
}

function runningByClient(state: State, model: string): Map<string, number> {
  const running = new Map<string, number>();
  for (const instance of instancesOf(state, model)) {
    for (const id of instance.leases) {
      const client = state.requests.get(id)?.client;
      if (client !== undefined) running.set(client, (running.get(client) ?? 0) + 1);
    }
  }
  return running;
}

function isOneClient(requests: readonly Request[]): boolean {
  const [first] = requests;
  return requests.every(({ client }) => client === first?.client);
}

/** A line that is played: nobody's answer ends meanwhile. */
interface Line {
  readonly order: Request[];
  readonly running: Map<string, number>;
  /** By client: when it had its last turn. */
  readonly turns: Map<string, number>;
}

function take({ order, running, turns }: Line, request: Request): void {
  order.push(request);
  running.set(request.client, (running.get(request.client) ?? 0) + 1);
  turns.set(request.client, order.length);
}

/** Plays the turns among these: at each level of running requests those who have so many take one each. */
function takeTurns(line: Line, waiting: readonly Request[]): void {
  const entering = clientsOf(line, waiting);
  let playing: Turn[] = [];
  let next = 0;
  for (let level = 0; playing.length > 0 || next < entering.length; level += 1) {
    // Those who enter at this level have waited since before the others' last turn.
    const from = next;
    while (entering[next]?.level === level) next += 1;
    playing = [...entering.slice(from, next), ...playing];
    for (const turn of playing) {
      const request = turn.requests[turn.at];
      if (request !== undefined) take(line, request);
      turn.at += 1;
    }
    playing = playing.filter((turn) => turn.at < turn.requests.length);
  }
}

interface Turn {
  readonly requests: readonly Request[];
  readonly level: number;
  /** Place in the play of its last turn; 0: it had none. */
  readonly lastTurn: number;
  readonly ticket: number;
  at: number;
}

/** Clients with what they have waiting, the next one first. Who had a turn in the play waits since then. */
function clientsOf({ running, turns }: Line, waiting: readonly Request[]): Turn[] {
  return [...Map.groupBy(waiting, ({ client }) => client)]
    .map(([client, requests]): Turn => {
      const level = running.get(client) ?? 0;
      return { requests, level, lastTurn: turns.get(client) ?? 0, ticket: requests[0]?.ticket ?? 0, at: 0 };
    })
    .sort((a, b) => a.level - b.level || a.lastTurn - b.lastTurn || a.ticket - b.ticket);
}
