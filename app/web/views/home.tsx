import { Chat } from '../parts/chat.tsx';
import { ToneIcon } from '../parts/icon.tsx';
import { Latest } from '../parts/latest.tsx';
import { Memory } from '../parts/memory.tsx';
import { ModelCard } from '../parts/model-card.tsx';
import { Problems } from '../parts/problems.tsx';
import { Requests } from '../parts/requests.tsx';
import { sentence, text, view } from '../state/app.ts';

/** What runs where, why, and what to do next. The order never jumps. */
export function Home() {
  const words = text.value.home;
  const models = view.value?.models ?? [];
  const said = sentence.value;
  return (
    <div class="home">
      {said !== null && (
        <h1 class={`headline tone-${said.tone}`}>
          <ToneIcon tone={said.tone} />
          <span>{said.text}</span>
        </h1>
      )}
      <Problems />
      <div class="columns">
        <div class="column">
          <Memory />
          <section aria-labelledby="models-title" class="models">
            <h2 id="models-title">{words.models}</h2>
            {models.length === 0 && <p class="card muted">{words.noModels}</p>}
            {models.map((model) => (
              <ModelCard key={model.name} model={model} />
            ))}
          </section>
        </div>
        <div class="column">
          <Requests />
          <Chat />
          <Latest />
        </div>
      </div>
    </div>
  );
}
