/** Work that is the same for all requests of a model is done once for each model, within one decision. */
import type { Model } from './types.ts';

/** The same function, asked at most once for each model. */
export function perModel<T>(make: (model: Model) => T): (model: Model) => T {
  const made = new Map<string, { readonly value: T }>();
  return (model) => {
    const known = made.get(model.name);
    if (known !== undefined) return known.value;
    const value = make(model);
    made.set(model.name, { value });
    return value;
  };
}
