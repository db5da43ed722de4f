/**
 * The host's memory with that of its graphics cards, and with what its other containers take; those are asked less
 * often, since Docker is slow to tell.
 */
import type { HostMemory } from '../core/types.ts';
import type { Clock, Containers, DeviceMemory, Host } from '../ports.ts';
import { within } from '../within.ts';

/** Readings of the host between two readings of its services. */
const SERVICES_EACH = 3;
/** A driver in trouble may let its files hang (ms): loads don't wait for them. */
const CARDS_MS = 500;

export interface Watched {
  readonly host: Host;
  readonly devices: Pick<DeviceMemory, 'cards'>;
  readonly containers: Pick<Containers, 'servicesMemory'>;
  readonly clock: Clock;
}

export function watchedHost({ host, devices, containers, clock }: Watched): Host {
  let services: number | null = null;
  let countdown = 0;
  let reading: Promise<HostMemory['cards']> | null = null;
  const readServices = async (): Promise<void> => {
    services = await containers.servicesMemory().catch(() => null);
  };
  /** One reading at a time: those that hang would use up what all files are read with. */
  const cards = async (): Promise<HostMemory['cards']> => {
    reading ??= devices.cards().finally(() => {
      reading = null;
    });
    return (await within({ clock }, reading, CARDS_MS)) ?? {};
  };
  return {
    async sample() {
      const [memory, told] = await Promise.all([host.sample(), cards()]);
      if (countdown === 0) {
        countdown = SERVICES_EACH;
        // A load waits for the sample, not for Docker's statistics.
        void readServices();
      }
      countdown -= 1;
      return { ...memory, services, cards: told };
    },
  };
}
