import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { LinkBanner, RefusedNote, UpdatedNote } from './parts/link-note.tsx';
import { Shell } from './parts/shell.tsx';
import { announcement, away, link, route, updated, view } from './state/app.ts';
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
      return <Later name="events" />;
    case 'connect':
      return <Later name="connect" />;
    case 'checkup':
      return <Later name="checkup" />;
  }
}

type View = () => JSX.Element;

/** All but the first view: their scripts are loaded when somebody opens them. */
const LATER: Readonly<Record<'events' | 'connect' | 'checkup', () => Promise<View>>> = {
  events: async () => (await import('./views/events.tsx')).Events,
  connect: async () => (await import('./views/connect.tsx')).Connect,
  checkup: async () => (await import('./views/checkup.tsx')).Checkup,
};
const loaded = signal<Partial<Record<keyof typeof LATER, View>>>({});

function Later({ name }: { name: keyof typeof LATER }) {
  useEffect(() => {
    LATER[name]()
      .then((view) => {
        loaded.value = { ...loaded.value, [name]: view };
      })
      // The server is away, as the page says; the next visit tries again.
      .catch(() => {});
  }, [name]);
  const Loaded = loaded.value[name];
  return Loaded === undefined ? <Waiting /> : <Loaded />;
}
