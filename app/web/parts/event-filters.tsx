import { EVENT_GROUPS, type EventFilter } from '../logic/events.ts';
import { routeHash } from '../logic/route.ts';
import { text, view } from '../state/app.ts';

/** Each change is the address, without a step in the history for every letter. */
function go(filter: EventFilter): void {
  location.replace(routeHash({ view: 'events', filter }));
}

export function EventFilters({ filter }: { filter: EventFilter }) {
  const words = text.value.events;
  const models = (view.value?.models ?? []).map((model) => model.name);
  const names = filter.model === '' || models.includes(filter.model) ? models : [...models, filter.model];
  return (
    <search class="filters">
      <label class="field">
        <span>{words.search}</span>
        <input
          type="search"
          value={filter.search}
          onInput={(event) => go({ ...filter, search: event.currentTarget.value })}
        />
      </label>
      <label class="field">
        <span>{words.model}</span>
        <select
          value={filter.model}
          onChange={(event) => go({ ...filter, model: event.currentTarget.value })}
        >
          <option value="">{words.allModels}</option>
          {names.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <label class="field">
        <span>{words.type}</span>
        <select
          value={filter.group}
          onChange={(event) => {
            const group = EVENT_GROUPS.find((one) => one === event.currentTarget.value) ?? '';
            go({ ...filter, group });
          }}
        >
          <option value="">{words.all}</option>
          {EVENT_GROUPS.map((group) => (
            <option key={group} value={group}>
              {words.groups[group]}
            </option>
          ))}
        </select>
      </label>
    </search>
  );
}
