import { Drills } from '../parts/drills.tsx';
import { text } from '../state/app.ts';

/** What tells whether all would go well if something went wrong. */
export function Checkup() {
  return (
    <div class="page">
      <h1>{text.value.nav.checkup}</h1>
      <Drills />
    </div>
  );
}
