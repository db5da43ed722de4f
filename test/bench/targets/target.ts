/** Something that answers chats. */
import { type Connection, connectionTo } from '../client/connection.ts';

export interface Target {
  readonly name: string;
  readonly url: string;
  /** The model's name there. */
  readonly model: string;
  /** Its process; null: not measured. */
  readonly pid: number | null;
}

export function connect({ url }: Target): Connection {
  const { hostname, port } = new URL(url);
  return connectionTo(hostname, Number(port));
}
