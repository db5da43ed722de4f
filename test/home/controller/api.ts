import { z } from 'zod';

/** The parts of GET /admin/state that the bench reads. */
const State = z.object({
  seq: z.number(),
  models: z.array(z.object({ name: z.string(), status: z.string(), placement: z.string() })),
  instances: z.array(
    z.object({
      model: z.string(),
      placement: z.string(),
      state: z.string(),
      container: z.string().nullable(),
      leases: z.number().optional(),
    }),
  ),
  problems: z.array(z.object({ code: z.string(), text: z.string(), fix: z.string() })),
});
export type ControllerState = z.output<typeof State>;

const Events = z.object({
  events: z.array(
    z.looseObject({
      seq: z.number(),
      type: z.string(),
      model: z.string().optional(),
      placement: z.string().optional(),
      reason: z.string().optional(),
      to: z.string().optional(),
      requestIds: z.array(z.string()).optional(),
    }),
  ),
});
export type ControllerEvent = z.output<typeof Events>['events'][number];

/** The admin API of a running controller. */
export interface ControllerApi {
  url: string;
  /** The answer's text where it is not ready, or why none came. */
  notReady: () => Promise<string | undefined>;
  state: () => Promise<ControllerState>;
  eventsAfter: (seq: number) => Promise<ControllerEvent[]>;
  /** Throws with the error's message. */
  command: (path: string) => Promise<void>;
}

export function controllerApi(url: string, adminToken?: string): ControllerApi {
  const headers = adminToken === undefined ? {} : { authorization: `Bearer ${adminToken}` };
  const get = async (path: string): Promise<unknown> => {
    const answer = await fetch(url + path, { headers });
    if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`);
    return answer.json();
  };
  return {
    url,
    notReady: () => notReady(`${url}/readyz`),
    state: async () => State.parse(await get('/admin/state')),
    eventsAfter: async (seq) => Events.parse(await get(`/admin/events?since=${seq}`)).events,
    command: async (path) => {
      const json = { ...headers, 'content-type': 'application/json' };
      const answer = await fetch(url + path, { method: 'POST', headers: json, body: '{}' });
      const text = await answer.text();
      if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${text}`);
    },
  };
}

async function notReady(url: string): Promise<string | undefined> {
  try {
    const answer = await fetch(url);
    const text = await answer.text();
    return answer.ok ? undefined : `${answer.status} ${text}`;
  } catch (error) {
    return error instanceof Error ? `${error.message} (${error.cause ?? 'no cause'})` : String(error);
  }
}
