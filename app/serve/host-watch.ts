/** The host's memory with what its other containers take; those are asked less often, since Docker is slow to tell. */
import type { Containers, Host } from '../ports.ts';

/** Readings of the host between two readings of its services. */
const SERVICES_EACH = 3;

export function watchedHost(host: Host, containers: Pick<Containers, 'servicesMemory'>): Host {
  let services: number | null = null;
  let countdown = 0;
  const readServices = async (): Promise<void> => {
    services = await containers.servicesMemory().catch(() => null);
  };
  return {
    async sample() {
      const memory = await host.sample();
      if (countdown === 0) {
        countdown = SERVICES_EACH;
        // A load waits for the sample, not for Docker's statistics.
        void readServices();
      }
      countdown -= 1;
      return { ...memory, services };
    },
  };
}
