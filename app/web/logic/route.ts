/** Views as hash routes: `#/events?model=chat&type=failover&q=gpu`. */
import type { EventFilter } from './events.ts';
import { EVENT_GROUPS } from './events.ts';

export type Route =
  | { readonly view: 'home' }
  | { readonly view: 'events'; readonly filter: EventFilter }
  | { readonly view: 'connect' }
  | { readonly view: 'checkup' };

export const NO_FILTER: EventFilter = { model: '', group: '', search: '' };

/** An unknown route is Home. */
export function parseRoute(hash: string): Route {
  const [path, query] = hash.replace(/^#\/?/, '').split('?', 2);
  const params = new URLSearchParams(query ?? '');
  switch (path) {
    case 'events': {
      const type = params.get('type') ?? '';
      return {
        view: 'events',
        filter: {
          model: params.get('model') ?? '',
          group: EVENT_GROUPS.find((group) => group === type) ?? '',
          search: params.get('q') ?? '',
        },
      };
    }
    case 'connect':
      return { view: 'connect' };
    case 'checkup':
      return { view: 'checkup' };
    default:
      return { view: 'home' };
  }
}

export function routeHash(route: Route): string {
  if (route.view !== 'events') return `#/${route.view}`;
  const params = new URLSearchParams();
  if (route.filter.model !== '') params.set('model', route.filter.model);
  if (route.filter.group !== '') params.set('type', route.filter.group);
  if (route.filter.search !== '') params.set('q', route.filter.search);
  const query = params.toString();
  return query === '' ? '#/events' : `#/events?${query}`;
}
