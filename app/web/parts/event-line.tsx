import type { Fact } from '../../core/facts.ts';
import { type Entry, toneOf } from '../logic/events.ts';
import { format, text } from '../state/app.ts';
import { EventIcon } from './icon.tsx';

export function phrase(fact: Fact): string {
  return text.value.facts[fact.type](fact, format.value);
}

/** One event in plain words; a failover with its recovery. */
export function EventLine({ entry, details = false }: { entry: Entry; details?: boolean }) {
  const { fact, recovery } = entry;
  // A failover counts its requests, which its words tell.
  const merged = fact.type === 'failover' ? 1 : (fact.count ?? 1);
  const tone = recovery === null ? toneOf(fact.type) : 'good';
  return (
    <li class={`event event-${tone}`}>
      <EventIcon tone={tone} />
      <div class="event-body">
        <p>
          {phrase(fact)}
          {recovery !== null && `${text.value.events.sentenceGap}${phrase(recovery)}`}
          {merged > 1 && <span class="chip">{text.value.events.times(merged)}</span>}
        </p>
        {details && (
          <details>
            <summary>{text.value.events.details}</summary>
            <pre class="mono">{JSON.stringify(fact, null, 2)}</pre>
            {recovery !== null && <pre class="mono">{JSON.stringify(recovery, null, 2)}</pre>}
          </details>
        )}
      </div>
      <time class="event-time" dateTime={fact.time} title={format.value.day(fact.time)}>
        {details ? format.value.clockSeconds(fact.time) : format.value.clock(fact.time)}
      </time>
    </li>
  );
}
