/** The one sentence of Home: all well, or the worst thing. */
import type { Placement } from '../../core/types.ts';
import type { ModelView, View } from '../../core/view.ts';
import type { Text } from '../text/en.ts';
import type { Format } from '../text/format.ts';
import { type CardState, cardState } from './card.ts';

export type Tone = 'well' | 'busy' | 'care' | 'bad';

export interface Headline {
  readonly tone: Tone;
  readonly text: string;
}

/** Looks for the worst thing first. */
export function headline(view: View, text: Text, format: Format): Headline {
  const words = text.headline;
  const states = view.models.map((model) => ({ model, state: cardState(model) }));
  const find = (...wanted: CardState[]) => states.find(({ state }) => wanted.includes(state))?.model;

  const failed = find('failed');
  if (failed !== undefined) return { tone: 'bad', text: words.failed(failed.name) };
  const problems = view.problems.length;
  if (problems > 0) return { tone: 'care', text: words.problems(problems) };
  if (view.models.length === 0) return { tone: 'care', text: words.noModels };
  const out = view.models.find((model) => model.outage !== null);
  if (out !== undefined) return { tone: 'care', text: outageText(out, text, format) };
  const starting = find('starting');
  if (starting !== undefined)
    return { tone: 'busy', text: words.starting(starting.name, startingOn(view, starting)) };
  const answering = find('answering');
  if (answering !== undefined) {
    return { tone: 'busy', text: words.answering(answering.name, placed(answering)) };
  }
  return { tone: 'well', text: wellText(states, text) };
}

function outageText(model: ModelView, text: Text, format: Format): string {
  const outage = model.outage;
  if (outage === null) return text.headline.well;
  const clock = format.clock(outage.retryAt);
  if (cardState(model) !== 'fallback') return text.headline.outage(model.name, outage.placement, clock);
  return outage.probing
    ? text.headline.probing(model.name, outage.placement)
    : text.headline.fallback(model.name, outage.placement, clock);
}

function wellText(states: readonly { model: ModelView; state: CardState }[], text: Text): string {
  const ready = states.filter(({ state }) => state === 'ready' || state === 'finishing');
  const first = ready[0];
  if (first !== undefined) {
    return ready.length === 1
      ? text.headline.ready(first.model.name, placed(first.model))
      : text.headline.severalReady(ready.length);
  }
  const asleep = states.filter(({ state }) => state === 'asleep').length;
  return asleep > 0 ? text.headline.asleep(asleep) : text.headline.allOff;
}

function placed(model: ModelView): Placement {
  return model.placement === 'none' ? (model.placements[0] ?? 'cpu') : model.placement;
}

function startingOn(view: View, model: ModelView): Placement {
  const instance = view.instances.find((one) => one.model === model.name && one.state === 'starting');
  return instance?.placement ?? placed(model);
}
