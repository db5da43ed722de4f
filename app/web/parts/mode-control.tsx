import type { Mode } from '../../core/types.ts';
import { MODES } from '../../core/types.ts';
import type { ModelView } from '../../core/view.ts';
import { away, text } from '../state/app.ts';
import { pendingOf } from '../state/commands.ts';

interface Props {
  readonly model: ModelView;
  readonly onChoose: (mode: Mode) => void;
}

/** Auto, GPU, CPU, Off: one of four, by keyboard as radio buttons are. */
export function ModeControl({ model, onChoose }: Props) {
  const words = text.value;
  const wanted = pendingOf(model.name, 'mode');
  const current = wanted?.do === 'mode' ? wanted.mode : model.mode;
  return (
    <fieldset class="mode">
      <legend>{words.model.mode}</legend>
      <div class="segments">
        {MODES.map((mode) => (
          <label key={mode} class="segment">
            <input
              type="radio"
              name={`mode-${model.name}`}
              value={mode}
              checked={current === mode}
              disabled={away.value}
              onChange={() => onChoose(mode)}
            />
            <span>{words.modes[mode]}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}
