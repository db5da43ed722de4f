import { useSignal } from '@preact/signals';
import { type Entry, entries } from '../logic/events.ts';
import { NO_FILTER } from '../logic/route.ts';
import { EventFilters } from '../parts/event-filters.tsx';
import { EventLine, phrase } from '../parts/event-line.tsx';
import { facts, firstView, format, route, serverNow, text } from '../state/app.ts';

/** Rows in the document at once. */
const PAGE = 200;

/** All that happened, by day, newest first. The filter is the address, so that it can be a link. */
export function Events() {
  const filter = route.value.view === 'events' ? route.value.filter : NO_FILTER;
  const words = text.value.events;
  const page = useSignal(0);
  const found = entries(facts.value, filter, phrase);
  const last = Math.max(0, Math.ceil(found.length / PAGE) - 1);
  const current = Math.min(page.value, last);
  const shown = found.slice(current * PAGE, (current + 1) * PAGE);
  const filtered = filter.model !== '' || filter.group !== '' || filter.search !== '';
  return (
    <div class="page">
      <div class="page-head">
        <h1>{words.title}</h1>
        <button type="button" class="button" onClick={() => save(found)}>
          {words.save}
        </button>
      </div>
      <EventFilters filter={filter} />
      {found.length === 0 && (
        <div class="card empty">
          <p>
            {filtered
              ? words.none
              : words.empty(format.value.clock(firstView.value?.time ?? serverNow.value))}
          </p>
          {filtered && <a href="#/events">{words.clear}</a>}
        </div>
      )}
      {days(shown).map((day) => (
        <section key={day.key} class="card day" aria-label={day.title}>
          <h2>{day.title}</h2>
          <ol class="event-list">
            {day.entries.map((entry) => (
              <EventLine key={entry.fact.seq} entry={entry} details />
            ))}
          </ol>
        </section>
      ))}
      {last > 0 && (
        <div class="pager">
          <button
            type="button"
            class="button"
            aria-disabled={current === 0}
            onClick={() => turn(current - 1)}
          >
            {words.newer}
          </button>
          <button
            type="button"
            class="button"
            aria-disabled={current === last}
            onClick={() => turn(current + 1)}
          >
            {words.older}
          </button>
        </div>
      )}
    </div>
  );

  function turn(to: number): void {
    page.value = Math.min(Math.max(0, to), last);
  }
}

interface Day {
  readonly key: string;
  readonly title: string;
  readonly entries: Entry[];
}

function days(shown: readonly Entry[]): readonly Day[] {
  const words = text.value.events;
  const said = format.value;
  const today = said.dayKey(serverNow.value);
  const yesterday = said.dayKey(serverNow.value - 86_400_000);
  const found: Day[] = [];
  for (const entry of shown) {
    const key = said.dayKey(entry.fact.time);
    const day = found.at(-1);
    if (day?.key === key) {
      day.entries.push(entry);
      continue;
    }
    const date = said.day(entry.fact.time);
    const word = key === today ? words.today : key === yesterday ? words.yesterday : null;
    found.push({ key, title: word === null ? date : words.dayTitle(word, date), entries: [entry] });
  }
  return found;
}

/** What the filter shows, as a file. */
function save(found: readonly Entry[]): void {
  const told = found.flatMap(({ fact, recovery }) => (recovery === null ? [fact] : [recovery, fact]));
  const url = URL.createObjectURL(new Blob([JSON.stringify(told, null, 2)], { type: 'application/json' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = 'llamastead-events.json';
  link.click();
  URL.revokeObjectURL(url);
}
