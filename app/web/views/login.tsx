import { text } from '../state/app.ts';
import { loggingIn, login, loginError } from '../state/login.ts';

export function Login() {
  const words = text.value.login;
  return (
    <form
      class="card login"
      onSubmit={(event) => {
        event.preventDefault();
        const token = new FormData(event.currentTarget).get('token');
        if (typeof token === 'string') void login(token);
      }}
    >
      <h1>{words.title}</h1>
      <p class="muted">{words.help}</p>
      <label class="field">
        <span>{words.token}</span>
        <input type="password" name="token" autocomplete="current-password" required />
      </label>
      {loginError.value !== null && (
        <p class="card-alert" role="alert">
          {loginError.value}
        </p>
      )}
      <button type="submit" class="button button-main" aria-disabled={loggingIn.value}>
        {words.enter}
      </button>
    </form>
  );
}
