/** What a person asks of a model: sent once, shown as wanted until the server's state tells the truth. */
import { signal } from '@preact/signals';
import type { Mode } from '../../core/types.ts';
import { errorOfResponse, ownWords, type ToldError } from '../logic/told-error.ts';
import { away, text } from './app.ts';

export type ModelCommand =
  | { readonly do: 'load' | 'unload' | 'restart' }
  | { readonly do: 'mode'; readonly mode: Mode }
  | { readonly do: 'keep-loaded'; readonly on: boolean };

interface Pending {
  readonly command: ModelCommand;
  /** The server took it: the next state may already show it. */
  readonly taken: boolean;
}

/** By model and what is done to it. */
export const pending = signal<ReadonlyMap<string, Pending>>(new Map());
/** Why the last command of a model did not work. */
export const commandErrors = signal<ReadonlyMap<string, ToldError>>(new Map());

/** A taken command waits so long for a state that shows it (ms). */
const SHOWN_AFTER = 3000;

export function pendingOf(model: string, what: ModelCommand['do']): ModelCommand | null {
  return pending.value.get(key(model, what))?.command ?? null;
}

export async function send(model: string, command: ModelCommand): Promise<void> {
  if (away.value || pendingOf(model, command.do) !== null) return;
  setError(model, null);
  setPending(model, command.do, { command, taken: false });
  const { do: what, ...body } = command;
  try {
    const response = await fetch(`admin/models/${encodeURIComponent(model)}/${what}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (response.ok) {
      setPending(model, what, { command, taken: true });
      setTimeout(() => setPending(model, what, null), SHOWN_AFTER);
      return;
    }
    setError(model, await errorOfResponse(response, text.value.command.failed(label(command))));
  } catch {
    setError(model, ownWords(text.value.command.unreachable));
  }
  setPending(model, what, null);
}

/** A new state is there: what was taken is in it. */
export function settleCommands(): void {
  const left = [...pending.value].filter(([, one]) => !one.taken);
  if (left.length !== pending.value.size) pending.value = new Map(left);
}

function label(command: ModelCommand): string {
  const words = text.value.model;
  switch (command.do) {
    case 'mode':
      return words.mode;
    case 'keep-loaded':
      return words.keepLoaded;
    default:
      return words[command.do];
  }
}

const key = (model: string, what: ModelCommand['do']) => `${what} ${model}`;

function setPending(model: string, what: ModelCommand['do'], value: Pending | null): void {
  const next = new Map(pending.value);
  if (value === null) next.delete(key(model, what));
  else next.set(key(model, what), value);
  pending.value = next;
}

function setError(model: string, error: ToldError | null): void {
  const next = new Map(commandErrors.value);
  if (error === null) next.delete(model);
  else next.set(model, error);
  commandErrors.value = next;
}
