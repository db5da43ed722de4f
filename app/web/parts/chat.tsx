import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { away, text, view } from '../state/app.ts';
import { ask, askWithKey, chatModel, clearChat, draft, keyAsked, stopAnswer, turns } from '../state/chat.ts';
import { ChatTurn } from './chat-turn.tsx';
import { KeyForm } from './key-form.tsx';

/** A small chat: is the model there, where does it answer, how fast. */
export function Chat() {
  const words = text.value;
  const names = (view.value?.models ?? [])
    .filter((model) => model.task === 'chat' && model.mode !== 'off')
    .map((model) => model.name);
  const chosen = names.includes(chatModel.value) ? chatModel.value : (names[0] ?? null);
  const box = useRef<HTMLTextAreaElement>(null);
  return (
    <section class="card chat" aria-labelledby="chat-title">
      <div class="card-head">
        <h2 id="chat-title">{words.home.chat}</h2>
        {turns.value.length > 0 && (
          <button type="button" class="button button-quiet" onClick={clearChat}>
            {words.chat.clear}
          </button>
        )}
      </div>
      {turns.value.length === 0 ? (
        <p class="muted">{chosen === null ? words.chat.noModel : words.chat.intro}</p>
      ) : (
        <ChatLog />
      )}
      {chosen !== null && keyAsked.value !== null && (
        <KeyForm
          asked={keyAsked.value}
          busy={isRunning()}
          onKey={(key) => void askWithKey(chosen, key)}
          next={box}
        />
      )}
      {chosen !== null && <ChatForm names={names} chosen={chosen} box={box} />}
    </section>
  );
}

function isRunning(): boolean {
  const state = turns.value.at(-1)?.answer.state;
  return state === 'sending' || state === 'streaming';
}

/** Follows the newest words unless the reader has scrolled up. */
function ChatLog() {
  const log = useRef<HTMLDivElement>(null);
  const follow = useRef(true);
  useEffect(() => {
    if (log.current !== null && follow.current) log.current.scrollTop = log.current.scrollHeight;
  }, [turns.value]);
  return (
    <section
      class="chat-log"
      ref={log}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
      tabIndex={0}
      aria-label={text.value.home.chat}
      onScroll={(event) => {
        const box = event.currentTarget;
        follow.current = box.scrollHeight - box.scrollTop - box.clientHeight < 40;
      }}
    >
      {turns.value.map((turn) => (
        <ChatTurn key={turn.id} turn={turn} />
      ))}
    </section>
  );
}

interface FormProps {
  readonly names: readonly string[];
  readonly chosen: string;
  readonly box: RefObject<HTMLTextAreaElement | null>;
}

function ChatForm({ names, chosen, box }: FormProps) {
  const words = text.value.chat;
  const running = isRunning();
  const submit = () => {
    if (running) stopAnswer();
    else if (!away.value) void ask(chosen);
  };
  return (
    <form
      class="chat-form"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <textarea
        ref={box}
        rows={2}
        aria-label={words.message}
        placeholder={words.placeholder}
        value={draft.value}
        onInput={(event) => {
          draft.value = event.currentTarget.value;
        }}
        onKeyDown={(event) => {
          // While Korean or Chinese is being composed, Enter belongs to the input method; Safari tells the
          // Enter that ends a composition by this code alone.
          if (event.key !== 'Enter' || event.shiftKey || event.isComposing || event.keyCode === 229) return;
          event.preventDefault();
          if (!running) submit();
        }}
      />
      <div class="chat-actions">
        {names.length > 1 && (
          <label class="chat-model">
            <span class="visually-hidden">{words.model}</span>
            <select
              value={chosen}
              onChange={(event) => {
                chatModel.value = event.currentTarget.value;
              }}
            >
              {names.map((name) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
            </select>
          </label>
        )}
        <button
          type="submit"
          class={running ? 'button' : 'button button-main'}
          aria-disabled={away.value && !running}
        >
          {running ? words.stop : words.send}
        </button>
      </div>
    </form>
  );
}
