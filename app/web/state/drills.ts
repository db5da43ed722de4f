/** Drills: the last reports, and asking for one. */
import { effect, signal } from '@preact/signals';
import type { DrillScenario } from '../../core/drill.ts';
import type { DrillReport } from '../../core/drill-report.ts';
import { errorOfResponse, ownWords, type ToldError } from '../logic/told-error.ts';
import { loadDrillText } from '../text/drill-text.ts';
import { enDrill } from '../text/en-drill.ts';
import { away, text, view } from './app.ts';
import { rareText } from './rare-text.ts';

export const { words: drillText, follow: followLanguage } = rareText(enDrill, loadDrillText);

/** Newest first; null: not read yet. */
export const reports = signal<readonly DrillReport[] | null>(null);
/** Why the last drill did not run, or the reports could not be read. */
export const drillError = signal<ToldError | null>(null);
/** Asked for, and not begun yet. */
export const asking = signal(false);

/** Reads the reports now and after each drill; the returned function ends it. */
export function watchReports(): () => void {
  let was: string | null | undefined;
  return effect(() => {
    const runs = view.value?.drill?.since ?? null;
    if (was === runs) return;
    was = runs;
    if (runs === null) void readReports();
  });
}

export async function runDrill(scenario: DrillScenario, model: string): Promise<void> {
  if (asking.value || away.value) return;
  asking.value = true;
  drillError.value = null;
  try {
    const response = await fetch('admin/drill?wait=0', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ scenario, model }),
    });
    // What means nothing here is reported at once, without a drill that the state could show.
    if (response.status === 200) await readReports();
    else if (!response.ok)
      drillError.value = await errorOfResponse(response, text.value.command.failed(drillText.value.run));
  } catch {
    drillError.value = ownWords(text.value.command.unreachable);
  }
  asking.value = false;
}

async function readReports(): Promise<void> {
  try {
    const response = await fetch('admin/drills', { cache: 'no-store' });
    if (!response.ok) throw new Error();
    reports.value = ((await response.json()) as { readonly reports: readonly DrillReport[] }).reports;
  } catch {
    drillError.value = ownWords(drillText.value.notRead);
  }
}
