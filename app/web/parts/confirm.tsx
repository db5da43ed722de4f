import { useEffect, useRef } from 'preact/hooks';
import { text } from '../state/app.ts';

interface Props {
  readonly title: string;
  readonly says: string;
  readonly action: string;
  readonly onYes: () => void;
  readonly onNo: () => void;
}

/** Asks before something that touches running work, and says what it touches. */
export function Confirm({ title, says, action, onYes, onNo }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="confirm" aria-labelledby="confirm-title" onClose={onNo}>
      <h2 id="confirm-title">{title}</h2>
      <p>{says}</p>
      <div class="confirm-buttons">
        <button type="button" class="button" onClick={onNo}>
          {text.value.model.cancel}
        </button>
        <button type="button" class="button button-main" onClick={onYes}>
          {action}
        </button>
      </div>
    </dialog>
  );
}
