import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { KeyAsked } from '../logic/key.ts';
import { format, text } from '../state/app.ts';

interface Props {
  readonly asked: KeyAsked;
  readonly busy: boolean;
  readonly onKey: (key: string) => void;
  /** Where the focus goes when the key was right and this form goes away. */
  readonly next: RefObject<HTMLElement | null>;
}

/** Asks for the key of the models' API, and says why. */
export function KeyForm({ asked, busy, onKey, next }: Props) {
  const words = text.value.chat;
  const field = useRef<HTMLInputElement>(null);
  const said = refusal(asked);
  useEffect(() => {
    field.current?.focus();
    return () => next.current?.focus();
  }, [next]);
  return (
    <form
      class="key-form"
      onSubmit={(event) => {
        event.preventDefault();
        const key = field.current?.value.trim() ?? '';
        if (key !== '' && !busy) onKey(key);
      }}
    >
      <p>{words.keyNeeded}</p>
      <label class="field">
        <span>{words.keyField}</span>
        <input ref={field} type="password" autocomplete="off" required />
      </label>
      {said !== null && (
        <p class="card-alert" role="alert">
          {said}
        </p>
      )}
      <button type="submit" class="button button-main" aria-disabled={busy}>
        {words.keySend}
      </button>
    </form>
  );
}

function refusal(asked: KeyAsked): string | null {
  switch (asked.why) {
    case 'needed':
      return null;
    case 'wrong':
      return text.value.chat.keyWrong;
    case 'wait':
      return text.value.login.wait(format.value.duration(asked.seconds));
  }
}
