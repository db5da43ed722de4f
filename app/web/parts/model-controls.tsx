import type { ModelView } from '../../core/view.ts';
import { mainAction } from '../logic/card.ts';
import { away, text } from '../state/app.ts';
import { type ModelCommand, pendingOf } from '../state/commands.ts';
import { ModeControl } from './mode-control.tsx';

interface Props {
  readonly model: ModelView;
  readonly act: (command: ModelCommand) => void;
}

/** The controls of a card; they keep their place in every state. */
export function ModelControls({ model, act }: Props) {
  const words = text.value.model;
  const wanted = pendingOf(model.name, 'keep-loaded');
  const kept = wanted?.do === 'keep-loaded' ? wanted.on : model.keepLoaded;
  return (
    <div class="controls">
      <ModeControl model={model} onChoose={(mode) => act({ do: 'mode', mode })} />
      <label class="switch">
        <input
          type="checkbox"
          checked={kept}
          disabled={away.value}
          onChange={(event) => act({ do: 'keep-loaded', on: event.currentTarget.checked })}
        />
        <span>{words.keepLoaded}</span>
      </label>
      <MainButton model={model} act={act} />
    </div>
  );
}

/** `aria-disabled`, not `disabled`: an update must never take the focus away from who is on the button. */
function MainButton({ model, act }: Props) {
  const words = text.value.model;
  const action = mainAction(model);
  const busy = pendingOf(model.name, 'load') !== null || pendingOf(model.name, 'unload') !== null;
  const off = action === null || busy || away.value;
  return (
    <button
      type="button"
      class={action === 'load' ? 'button button-main' : 'button'}
      aria-disabled={off}
      aria-label={`${words[action ?? 'load']}: ${model.displayName}`}
      onClick={() => {
        if (!off && action !== null) act({ do: action });
      }}
    >
      {words[action ?? 'load']}
    </button>
  );
}
