import { connectAsync } from 'mqtt';
import { z } from 'zod';

export interface Listener {
  /** Events in the order in which they came, in words. */
  heard: () => string[];
  /** Number of the newest event; 0 before the first. */
  newest: () => number;
  close: () => Promise<void>;
}

const Event = z.object({
  seq: z.number(),
  type: z.string(),
  model: z.string().optional(),
  placement: z.string().optional(),
  reason: z.string().optional(),
});

/** Listens to the home's events as Home Assistant does. */
export async function listen(url: string, topic: string): Promise<Listener> {
  const heard: string[] = [];
  let newest = 0;
  const client = await connectAsync(url);
  client.on('message', (_topic, payload) => {
    const { seq, type, model, placement, reason } = Event.parse(JSON.parse(payload.toString()));
    const because = reason === undefined ? '' : `(${reason})`;
    newest = seq;
    heard.push([`#${seq}`, type, model, placement, because].filter((word) => word).join(' '));
  });
  await client.subscribeAsync(topic);
  return { heard: () => heard, newest: () => newest, close: () => client.endAsync() };
}
