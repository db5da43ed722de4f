import { text } from '../state/app.ts';

/** Before the first snapshot. */
export function Waiting() {
  return (
    <div class="home">
      <h1 class="headline">
        <span>{text.value.headline.loading}</span>
      </h1>
    </div>
  );
}
