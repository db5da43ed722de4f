/** What an exchange starts from. */
import type { RequestId } from '../../../core/request.ts';
import type { KeyedAnswers } from '../keyed/index.ts';
import type { Alarms } from './alarms.ts';
import type { BodyFields } from './body.ts';
import type { BodyRoom } from './body-room.ts';
import type { Connections } from './connections.ts';
import type { ForwardSettings, ModelApiOptions } from './options.ts';
import type { Protocol } from './protocols.ts';
import type { KnownTemplates } from './resume/preflight.ts';
import type { Wire } from './wire.ts';

/** What all requests of one model API have in common. */
export interface Shared {
  readonly options: ModelApiOptions;
  readonly connections: Connections;
  readonly alarms: Alarms;
  readonly bodyRoom: BodyRoom;
  readonly keyed: KeyedAnswers;
  readonly templates: KnownTemplates;
}

/** A request whose body is read. */
export interface Call {
  readonly id: RequestId;
  readonly requestId: string;
  readonly path: string;
  readonly protocol: Protocol;
  readonly body: Buffer;
  readonly fields: BodyFields;
  readonly neverReplay: boolean;
  /** Whom it counts for when there is a line. */
  readonly client: string;
  /** The running drill sent it. */
  readonly drill: boolean;
  /** The client's own deadline, ms from `receivedAt`; null: none. */
  readonly deadlineMs: number | null;
  readonly receivedAt: number;
  readonly settings: ForwardSettings;
  readonly res: Wire;
}
