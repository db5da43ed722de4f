/**
 * Gauges that show the view as it is when Prometheus asks.
 */
import { Gauge, type Registry } from 'prom-client';
import type { View } from '../../../core/view.ts';

/** Registers them; the returned function sets them all from one view. */
export function stateMetrics(registry: Registry): (view: View) => void {
  const gauge = <L extends string>(name: string, help: string, labelNames: readonly L[]) =>
    new Gauge({ name: `llamastead_${name}`, help, labelNames, registers: [registry] });
  const queue = gauge('queue_requests', 'Requests that wait for an instance.', []);
  const leases = gauge('leases', 'Requests that an instance answers now.', []);
  const memory = gauge('memory_bytes', 'RAM of the host, by what it is for.', ['what']);
  const gpus = gauge('gpu_memory_bytes', 'Memory of a GPU, by what it is for.', ['gpu', 'what']);
  const instances = gauge('instances', 'Instances by model, placement and state.', [
    'model',
    'placement',
    'state',
  ]);
  const loaded = gauge('model_loaded', '1 where the model runs on that placement, else 0.', [
    'model',
    'placement',
  ]);
  const outage = gauge('placement_out', '1 while a placement of the model is out of service.', [
    'model',
    'placement',
    'reason',
  ]);
  const problems = gauge('problems', 'Open problems by code.', ['code']);
  return (view) => {
    queue.set(view.queue);
    leases.set(view.leases);
    for (const one of [memory, gpus, instances, loaded, outage, problems]) one.reset();
    for (const [what, bytes] of Object.entries(view.memory ?? {})) {
      if (typeof bytes === 'number') memory.set({ what }, bytes);
    }
    for (const { name, total, used, models, headroom } of view.gpus) {
      for (const [what, bytes] of Object.entries({ total, used, models, headroom })) {
        if (bytes !== null) gpus.set({ gpu: name, what }, bytes);
      }
    }
    for (const { model, placement, state } of view.instances) instances.inc({ model, placement, state });
    for (const { name, placements, placement: at, outage: out } of view.models) {
      for (const placement of placements) loaded.set({ model: name, placement }, placement === at ? 1 : 0);
      if (out !== null) outage.set({ model: name, placement: out.placement, reason: out.reason }, 1);
    }
    for (const { code } of view.problems) problems.inc({ code });
  };
}
