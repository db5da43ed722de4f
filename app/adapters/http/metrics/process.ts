/**
 * Metrics of the process itself, under the names that Prometheus' client libraries share. prom-client's own
 * set watches the event loop a hundred times a second; a box at rest should rest.
 */
import { Counter, Gauge, type Registry } from 'prom-client';

/** Registers them; each is read when it is asked for. */
export function processMetrics(registry: Registry): void {
  const registers = [registry];
  new Counter({
    name: 'process_cpu_seconds_total',
    help: 'CPU time of the controller, user and system, in seconds.',
    registers,
    collect() {
      const { user, system } = process.cpuUsage();
      this.reset();
      this.inc((user + system) / 1e6);
    },
  });
  new Gauge({
    name: 'process_resident_memory_bytes',
    help: 'Resident memory of the controller.',
    registers,
    collect() {
      this.set(process.memoryUsage.rss());
    },
  });
  new Gauge({
    name: 'nodejs_heap_size_used_bytes',
    help: "Memory used in the controller's JavaScript heap.",
    registers,
    collect() {
      this.set(process.memoryUsage().heapUsed);
    },
  });
  new Gauge({
    name: 'process_start_time_seconds',
    help: 'When the controller was started, in seconds since 1970.',
    registers,
  }).set(Math.round(Date.now() / 1_000 - process.uptime()));
}
