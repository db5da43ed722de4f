/** The forwarding half of the HTTP edge: the model API. */
import type { ModelApi, ModelApiOptions } from './options.ts';

export type {
  CatalogModel,
  ForwardLog,
  ForwardMetrics,
  ForwardSettings,
  Handler,
  ModelApi,
  ModelApiOptions,
  RequestMeasurement,
  Target,
} from './options.ts';

/** Makes the model API; see `ModelApi` for what it does. */
export function modelApi(_options: ModelApiOptions): ModelApi {
  throw new Error('not built yet');
}
