import type { ToldError } from '../logic/told-error.ts';
import { clock, feed, format, link, text } from '../state/app.ts';
import { ErrorText } from './error-text.tsx';
import { Icon } from './icon.tsx';

/** The server is away: how old the data is. The page itself stays. */
export function LinkBanner() {
  const words = text.value.link;
  const { view, viewAt } = feed.value;
  const heardAt = link.value.kind === 'lost' ? link.value.heardAt : null;
  const age = format.value.ticking((clock.value - (heardAt ?? viewAt)) / 1000);
  return (
    <div class="note note-bad" role="status">
      <Icon shape="octagon" />
      <p>
        <strong>{words.away}</strong>{' '}
        {view === null ? words.offline : words.stale(format.value.clock(heardAt ?? viewAt), age)}
      </p>
    </div>
  );
}

export function UpdatedNote() {
  const words = text.value.link;
  return (
    <div class="note" role="status">
      <Icon shape="dot" />
      <p>{words.updated}</p>
      <button type="button" class="button" onClick={() => location.reload()}>
        {words.reload}
      </button>
    </div>
  );
}

/** The server refuses this page: its own words name the host and what to add. */
export function RefusedNote({ error }: { error: ToldError }) {
  return (
    <div class="note note-bad" role="alert">
      <Icon shape="octagon" />
      <p>
        <strong>{text.value.link.refused}</strong> <ErrorText error={error} />
      </p>
    </div>
  );
}
