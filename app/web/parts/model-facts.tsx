import type { Need } from '../../core/types.ts';
import type { InstanceView, ModelView } from '../../core/view.ts';
import { cardState, whereIs } from '../logic/card.ts';
import { learnedText } from '../logic/learned.ts';
import { format, serverNow, text } from '../state/app.ts';

/** Where it runs, what it uses, how fast it is, when it goes: a short list of plain figures. */
export function ModelFacts({ model, instance }: { model: ModelView; instance: InstanceView | null }) {
  const words = text.value.model;
  const idle = idleText(model);
  const wrong = wrongPlace(instance);
  const learned = instance && learnedText(model, instance.placement, words, format.value);
  return (
    <>
      {wrong !== null && <p class="card-alert">{wrong}</p>}
      <dl class="figures">
        <div>
          <dt>{words.where}</dt>
          <dd>{placeText(instance)}</dd>
        </div>
        {instance === null ? (
          model.need !== null && (
            <div>
              <dt>{words.needs}</dt>
              <dd>{needText(model.need)}</dd>
            </div>
          )
        ) : (
          <div>
            <dt>{words.uses}</dt>
            <dd>{usesText(instance)}</dd>
          </div>
        )}
        {learned !== null && (
          <div>
            <dt>{words.speed}</dt>
            <dd>{learned}</dd>
          </div>
        )}
        {idle !== null && (
          <div>
            <dt>{words.idle}</dt>
            <dd>{idle}</dd>
          </div>
        )}
      </dl>
    </>
  );
}

/** The measured placement where there is one. */
function placeText(instance: InstanceView | null): string {
  if (instance === null) return text.value.model.notLoaded;
  const where = whereIs(instance);
  return text.value.places[where.measured ?? where.planned];
}

function wrongPlace(instance: InstanceView | null): string | null {
  if (instance === null) return null;
  const { planned, measured } = whereIs(instance);
  return measured === null || measured === planned ? null : text.value.model.wrongPlace(planned, measured);
}

function usesText(instance: InstanceView): string {
  const words = text.value.model;
  const { ram, vram } = whereIs(instance);
  return sizes(vram, ram) ?? words.notMeasured;
}

function needText(need: Need): string {
  const vram = Object.values(need.vram).reduce((sum, bytes) => sum + bytes, 0);
  return sizes(vram, need.ram) ?? text.value.model.notMeasured;
}

function sizes(vram: number | null, ram: number | null): string | null {
  const words = text.value.model;
  const device = vram === null || vram === 0 ? null : words.vramOf(format.value.memory(vram));
  const host = ram === null ? null : words.ramOf(format.value.memory(ram));
  return device !== null && host !== null ? words.and(device, host) : (device ?? host);
}

function idleText(model: ModelView): string | null {
  const words = text.value.model;
  if (model.mode === 'off') return null;
  if (model.keepLoaded || model.idleUnload === null) return words.stays;
  const state = cardState(model);
  if (model.unloadAt !== null && (state === 'ready' || state === 'fallback')) {
    return words.unloadsIn(format.value.ticking((Date.parse(model.unloadAt) - serverNow.value) / 1000));
  }
  return words.unloadsAfter(format.value.duration(model.idleUnload));
}
