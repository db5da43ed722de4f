/** A cable between a client and its broker that a test can cut and mend. */
import type { AddressInfo } from 'node:net';
import * as cables from '../../../support/relay.ts';

export interface Relay extends cables.Relay {
  readonly url: string;
}

export async function relayTo(port: number): Promise<Relay> {
  const host = '127.0.0.1';
  const cable = await cables.relay({ port: 0, host }, { port, host, noDelay: true });
  return { ...cable, url: `mqtt://${host}:${(cable.server.address() as AddressInfo).port}` };
}
