import { fold } from '../logic/events.ts';
import { facts, firstView, format, serverNow, text } from '../state/app.ts';
import { EventLine } from './event-line.tsx';

/** Facts looked at for the latest lines; folding may take two for one. */
const LOOKED_AT = 40;
const SHOWN = 5;

export function Latest() {
  const words = text.value.home;
  const latest = fold(facts.value.slice(-LOOKED_AT)).slice(0, SHOWN);
  return (
    <section class="card latest" aria-labelledby="latest-title">
      <div class="card-head">
        <h2 id="latest-title">{words.events}</h2>
        <a href="#/events">{words.allEvents}</a>
      </div>
      {latest.length === 0 ? (
        <p class="muted">{words.noEvents(format.value.clock(firstView.value?.time ?? serverNow.value))}</p>
      ) : (
        <ol class="event-list">
          {latest.map((entry) => (
            <EventLine key={entry.fact.seq} entry={entry} />
          ))}
        </ol>
      )}
    </section>
  );
}
