/** The token of a locked page: exchanged for a cookie, never kept here. */
import { signal } from '@preact/signals';
import { format, text } from './app.ts';
import { reconnect } from './live.ts';

export const loginError = signal<string | null>(null);
export const loggingIn = signal(false);

export async function login(token: string): Promise<void> {
  if (loggingIn.value) return;
  loggingIn.value = true;
  loginError.value = null;
  try {
    const response = await fetch('admin/login', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ token }),
    });
    if (response.ok) reconnect();
    else loginError.value = refusal(response);
  } catch {
    loginError.value = text.value.login.failed;
  } finally {
    loggingIn.value = false;
  }
}

function refusal(response: Response): string {
  const wait = Number(response.headers.get('retry-after') ?? 'NaN');
  return response.status === 429 && Number.isFinite(wait)
    ? text.value.login.wait(format.value.duration(wait))
    : text.value.login.wrong;
}
