/**
 * Topic names. Pure.
 */
export interface Topics {
  readonly availability: string;
  readonly state: string;
  readonly metrics: string;
  readonly event: string;
  readonly ack: string;
  modelState(slug: string): string;
  /** A command for all models. */
  set(key: string): string;
  /** A command for one model. */
  modelSet(slug: string, key: string): string;
  /** Filters that match every command topic. */
  readonly commandFilters: readonly string[];
}

/** All topics of one home: `<base>/<instance>/...`. */
export function topicsOf(base: string, instance: string): Topics {
  const root = `${base}/${instance}`;
  return {
    availability: `${root}/availability`,
    state: `${root}/state`,
    metrics: `${root}/metrics`,
    event: `${root}/event`,
    ack: `${root}/ack`,
    modelState: (slug) => `${root}/model/${slug}/state`,
    set: (key) => `${root}/set/${key}`,
    modelSet: (slug, key) => `${root}/model/${slug}/set/${key}`,
    commandFilters: [`${root}/set/+`, `${root}/model/+/set/+`],
  };
}

/** What a topic asks for; null where it is no command of this home. `model` null: all models. */
export function commandOf(
  base: string,
  instance: string,
  topic: string,
): { readonly model: string | null; readonly key: string } | null {
  const root = `${base}/${instance}/`;
  if (!topic.startsWith(root)) return null;
  const parts = topic.slice(root.length).split('/');
  if (parts.length === 2 && parts[0] === 'set') return { model: null, key: parts[1] ?? '' };
  if (parts.length === 4 && parts[0] === 'model' && parts[2] === 'set')
    return { model: parts[1] ?? '', key: parts[3] ?? '' };
  return null;
}
