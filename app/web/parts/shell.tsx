import type { ComponentChildren } from 'preact';
import { NO_FILTER, type Route, routeHash } from '../logic/route.ts';
import { route, text, view } from '../state/app.ts';
import { Icon, type Shape } from './icon.tsx';
import { LanguageChoice } from './language-choice.tsx';

/** Header, navigation (at the bottom on a phone), content, footer. `bare`: no navigation and no data. */
export function Shell({ bare = false, children }: { bare?: boolean; children: ComponentChildren }) {
  const words = text.value;
  return (
    <>
      <a class="skip" href="#main">
        {words.nav.skip}
      </a>
      <header class="top">
        <div class="top-inner">
          <a class="brand" href="#/home">
            <img src="./icon.svg" alt="" width="32" height="32" />
            <span>Llamastead</span>
          </a>
          {!bare && <Navigation />}
          <LanguageChoice />
        </div>
      </header>
      <main id="main" tabIndex={-1}>
        {children}
      </main>
      {!bare && view.value !== null && <footer class="foot">{words.version(view.value.version)}</footer>}
    </>
  );
}

const VIEWS: readonly { readonly route: Route; readonly shape: Shape }[] = [
  { route: { view: 'home' }, shape: 'home' },
  { route: { view: 'events', filter: NO_FILTER }, shape: 'list' },
  { route: { view: 'connect' }, shape: 'plug' },
  { route: { view: 'checkup' }, shape: 'pulse' },
];

function Navigation() {
  const words = text.value.nav;
  return (
    <nav class="nav" aria-label={words.label}>
      {VIEWS.map((one) => (
        <a
          key={one.route.view}
          href={routeHash(one.route)}
          aria-current={route.value.view === one.route.view ? 'page' : undefined}
        >
          <Icon shape={one.shape} />
          <span>{words[one.route.view]}</span>
        </a>
      ))}
    </nav>
  );
}
