/** What the Connect view is told by the server, when it is opened. */
import { signal } from '@preact/signals';
import type { ConnectView } from '../../core/view.ts';
import { errorOfResponse, ownWords, type ToldError } from '../logic/told-error.ts';
import { loadConnectText } from '../text/connect-text.ts';
import { enConnect } from '../text/en-connect.ts';
import { text } from './app.ts';
import { rareText } from './rare-text.ts';

export const { words: connectText, follow: followLanguage } = rareText(enConnect, loadConnectText);

/** Null before the first answer. */
export const connectView = signal<ConnectView | null>(null);

/** Asks anew; what was known stays where the server is away. */
export async function askConnect(): Promise<void> {
  try {
    const response = await fetch('admin/connect', { cache: 'no-store' });
    if (response.ok) connectView.value = (await response.json()) as ConnectView;
  } catch {
    // The banner says that the server is away; the view asks again when it is back.
  }
}

export type Password =
  | { readonly ok: true; readonly password: string }
  | { readonly ok: false; readonly error: ToldError };

/** The broker's password: handed to who asked, kept nowhere. */
export async function askPassword(): Promise<Password> {
  try {
    const response = await fetch('admin/connect/broker-password', { cache: 'no-store' });
    if (!response.ok) return { ok: false, error: await errorOfResponse(response) };
    return { ok: true, password: ((await response.json()) as { password: string }).password };
  } catch {
    return { ok: false, error: ownWords(text.value.chat.unreachable) };
  }
}
