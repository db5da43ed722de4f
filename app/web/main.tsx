/** The page starts here. */
import { effect } from '@preact/signals';
import { render } from 'preact';
import { App } from './app.tsx';
import { parseRoute } from './logic/route.ts';
import { away, firstLanguage, language, route, sentence, showLanguage, text } from './state/app.ts';
import { startLive } from './state/live.ts';

addEventListener('hashchange', () => {
  // The link that skips to the content is no route.
  if (location.hash === '#main') return;
  const before = route.value.view;
  route.value = parseRoute(location.hash);
  // A filter is a new address of the same view: only another view begins at its top.
  if (route.value.view !== before) scrollTo(0, 0);
});

// The tab tells what its page would: quiet while all is well.
effect(() => {
  const said = sentence.value;
  if (away.value) document.title = `${text.value.link.away} Llamastead`;
  else if (said === null || said.tone === 'well' || said.tone === 'busy') document.title = 'Llamastead';
  else document.title = `${said.text} Llamastead`;
});

const root = document.getElementById('app');
if (root !== null) {
  startLive();
  await showLanguage(firstLanguage()).catch(() => undefined);
  effect(() => {
    document.documentElement.lang = language.value;
  });
  render(<App />, root);
}
