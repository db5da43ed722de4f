/** Decisions about a drill's begin, its failure being made, and its end. */
import type { Decision } from './changes.ts';
import type { Input } from './inputs.ts';
import type { State } from './state.ts';
import type { Now } from './types.ts';

export type DrillInput = Extract<
  Input,
  { type: 'drill_began' | 'drill_eased' | 'drill_sealed' | 'drill_ended' | 'drill_reported' }
>;

export function onDrill(out: Decision, state: State, input: DrillInput, now: Now): void {
  const { drill } = state;
  switch (input.type) {
    case 'drill_began': {
      if (drill !== null) return;
      const { id, scenario, model } = input;
      const begun = { id, scenario, model, since: now.mono, exclusive: true };
      out.changes.push({ type: 'drill_set', drill: begun });
      out.facts.push({ type: 'drill_started', model, scenario });
      return;
    }
    case 'drill_eased':
    case 'drill_sealed': {
      const exclusive = input.type === 'drill_sealed';
      if (drill !== null && drill.exclusive !== exclusive)
        out.changes.push({ type: 'drill_set', drill: { ...drill, exclusive } });
      return;
    }
    case 'drill_reported': {
      const { model, scenario, verdict, why, seconds } = input;
      out.facts.push({ type: 'drill_finished', model, scenario, verdict, detail: why, seconds });
      return;
    }
    case 'drill_ended':
      if (drill === null) return;
      out.changes.push({ type: 'drill_set', drill: null });
      out.facts.push({
        type: 'drill_finished',
        model: drill.model,
        scenario: drill.scenario,
        verdict: input.verdict,
        detail: input.why,
        seconds: Math.round(now.mono - drill.since) / 1000,
      });
  }
}
