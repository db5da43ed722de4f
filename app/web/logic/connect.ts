/** Addresses as other programs at home have to be given them. */
import type { BrokerView } from '../../core/view.ts';

/**
 * `opened`: the origin of this page as the browser has it. One that only this machine knows is no use to others:
 * then `known`, the address that the server knows of itself, where it knows one.
 */
export function originFor(opened: string, known: string | null): string {
  if (known === null || !isLoopback(new URL(opened).hostname)) return opened;
  return new URL(known).origin;
}

/** Host of the broker, as a client types it; `origin` as from `originFor`. */
export function brokerHost(broker: BrokerView, origin: string): string {
  return broker.host ?? new URL(origin).hostname;
}

/** Listens for this machine alone: another one is refused. */
export function onlyLocal(broker: BrokerView): boolean {
  return broker.kind === 'embedded' && broker.host !== null && isLoopback(broker.host);
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || host === '::1' || host.startsWith('127.');
}
