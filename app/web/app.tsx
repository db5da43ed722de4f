import { LinkBanner, RefusedNote, UpdatedNote } from './parts/link-note.tsx';
import { Shell } from './parts/shell.tsx';
import { announcement, away, link, route, updated, view } from './state/app.ts';
import { Checkup } from './views/checkup.tsx';
import { Connect } from './views/connect.tsx';
import { Events } from './views/events.tsx';
import { Home } from './views/home.tsx';
import { Login } from './views/login.tsx';
import { Waiting } from './views/waiting.tsx';

/** What is shown: by the connection first, then by the route. Nothing of the data stands before the token. */
export function App() {
  if (link.value.kind === 'locked') {
    return (
      <Shell bare>
        <Login />
      </Shell>
    );
  }
  if (link.value.kind === 'refused') {
    return (
      <Shell bare>
        <RefusedNote error={link.value.error} />
      </Shell>
    );
  }
  return (
    <Shell>
      {away.value && <LinkBanner />}
      {updated.value && <UpdatedNote />}
      <div class={away.value ? 'content is-away' : 'content'}>
        {view.value === null ? <Waiting /> : <Current />}
      </div>
      <p class="visually-hidden" aria-live="polite">
        {announcement.value}
      </p>
    </Shell>
  );
}

function Current() {
  switch (route.value.view) {
    case 'home':
      return <Home />;
    case 'events':
      return <Events filter={route.value.filter} />;
    case 'connect':
      return <Connect />;
    case 'checkup':
      return <Checkup />;
  }
}
