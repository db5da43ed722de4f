import { useSignal } from '@preact/signals';
import { useId, useRef } from 'preact/hooks';
import { connectText } from '../state/connect.ts';

/** A text to copy. Plain HTTP on the LAN has no `navigator.clipboard`: select it and let the browser copy. */
export function CopyField({ label, value }: { label: string; value: string }) {
  const words = connectText.value;
  const field = useRef<HTMLInputElement>(null);
  const copied = useSignal(false);
  const id = useId();
  return (
    <div class="copy">
      <label for={id}>{label}</label>
      <div class="copy-row">
        <input
          id={id}
          ref={field}
          readOnly
          value={value}
          class="mono"
          onFocus={(event) => event.currentTarget.select()}
        />
        <button
          type="button"
          class="button"
          aria-label={words.copyOf(label)}
          onBlur={() => {
            copied.value = false;
          }}
          onClick={() => {
            field.current?.select();
            copied.value = document.execCommand('copy');
          }}
        >
          {copied.value ? words.copied : words.copy}
        </button>
      </div>
    </div>
  );
}
