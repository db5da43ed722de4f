import { useSignal } from '@preact/signals';
import type { ModelView } from '../../core/view.ts';
import { cardState, leasesOf, mainInstance, startingOf } from '../logic/card.ts';
import { outageStory } from '../logic/outage.ts';
import { NO_FILTER, routeHash } from '../logic/route.ts';
import { standbyText } from '../logic/standby.ts';
import { facts, format, serverNow, text, view } from '../state/app.ts';
import { commandErrors, type ModelCommand, send } from '../state/commands.ts';
import { Confirm } from './confirm.tsx';
import { ErrorText } from './error-text.tsx';
import { StateIcon } from './icon.tsx';
import { ModelControls } from './model-controls.tsx';
import { ModelFacts } from './model-facts.tsx';
import { OutageSteps } from './outage-steps.tsx';

/** One model: state, where and why, figures, controls that keep their place. */
export function ModelCard({ model }: { model: ModelView }) {
  const asking = useSignal<ModelCommand | null>(null);
  const seen = view.value;
  if (seen === null) return null;
  const words = text.value.model;
  const state = cardState(model);
  const story = outageStory(seen, model, facts.value, serverNow.value);
  const leases = leasesOf(seen, model.name);
  const error = commandErrors.value.get(model.name) ?? null;
  const act = (command: ModelCommand) => {
    if (leases > 0 && touchesRequests(command)) asking.value = command;
    else void send(model.name, command);
  };
  return (
    <article class={`card model model-${state}`} aria-labelledby={`model-${model.name}`}>
      <div class="model-head">
        <h3 id={`model-${model.name}`}>{model.displayName}</h3>
        <span class={`state state-${state}`}>
          <StateIcon state={state} />
          {text.value.states[state]}
        </span>
      </div>
      {state === 'starting' && <StartingLine model={model} />}
      {story !== null && <OutageSteps model={model} story={story} />}
      {model.lastError !== null && (
        <p class="card-alert">
          <strong>{words.lastError}:</strong> <span lang="en">{model.lastError}</span>
        </p>
      )}
      {model.mode === 'off' && <p class="muted">{words.modeOff}</p>}
      <ModelFacts model={model} instance={mainInstance(seen, model)} />
      {error !== null && (
        <p class="card-alert" role="alert">
          <ErrorText error={error} />
        </p>
      )}
      <ModelControls model={model} act={act} />
      <ModelMore model={model} />
      {asking.value !== null && (
        <Confirm
          title={words.busyTitle(model.name)}
          says={asking.value.do === 'mode' ? words.busyOff(leases) : words.busyUnload(leases)}
          action={asking.value.do === 'mode' ? text.value.modes.off : words.unload}
          onNo={() => {
            asking.value = null;
          }}
          onYes={() => {
            if (asking.value !== null) void send(model.name, asking.value);
            asking.value = null;
          }}
        />
      )}
    </article>
  );
}

function touchesRequests(command: ModelCommand): boolean {
  return (
    command.do === 'unload' || command.do === 'restart' || (command.do === 'mode' && command.mode === 'off')
  );
}

function StartingLine({ model }: { model: ModelView }) {
  const words = text.value.model;
  const starting = view.value === null ? null : startingOf(view.value, model, serverNow.value);
  if (starting === null) return null;
  const elapsed = format.value.ticking(starting.elapsed);
  const said =
    starting.usual === null || starting.elapsed > starting.usual
      ? words.startingFor(elapsed)
      : words.startingOf(elapsed, format.value.duration(starting.usual));
  return (
    <div class="starting">
      <p>{said}</p>
      {starting.fraction === null ? (
        <progress aria-label={said} />
      ) : (
        <progress value={starting.fraction} aria-label={said} />
      )}
    </div>
  );
}

function ModelMore({ model }: { model: ModelView }) {
  const words = text.value.model;
  return (
    <details class="more">
      <summary>{words.more(model.displayName)}</summary>
      <dl class="figures">
        <div>
          <dt>{words.file}</dt>
          <dd class="mono">{model.file}</dd>
        </div>
        <div>
          <dt>{words.context}</dt>
          <dd>{words.contextValue(format.value.number(model.context), model.parallel)}</dd>
        </div>
        {model.standby !== null && (
          <div>
            <dt>{words.standby}</dt>
            <dd>{standbyText(model.standby, words, format.value)}</dd>
          </div>
        )}
      </dl>
      <a href={routeHash({ view: 'events', filter: { ...NO_FILTER, model: model.name } })}>
        {words.events(model.name)}
      </a>
    </details>
  );
}
