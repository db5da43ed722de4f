/**
 * Pages that are used again. A new context costs Chromium three times what a visit does; another origin is as good:
 * each scripted server has its own, and cookies, which know no port, are taken away.
 */
import type { Browser, BrowserContextOptions } from 'playwright-core';
import { DESKTOP, type Watched, watchedPage } from './browser.ts';

export interface TabOptions extends BrowserContextOptions {
  /** For a test that changes the tab for good, as by a script at its start or a clock. */
  readonly own?: boolean;
}

export interface Tabs {
  /** Lends a page to `run` that has visited nothing of `url`'s origin; two at once are never the same. */
  use(url: string, run: (watched: Watched) => Promise<void>, options?: TabOptions): Promise<void>;
}

interface Tab extends Watched {
  /** Asks for this language from now on. */
  speak(locale: string): Promise<unknown>;
}

export function tabs(browser: Browser): Tabs {
  const idle = new Map<string, Tab[]>();

  async function lend(kind: string, url: string, options: BrowserContextOptions): Promise<Tab> {
    const tab = idle.get(kind)?.pop() ?? (await newTab(url, options));
    tab.watch(url);
    return tab;
  }

  async function newTab(url: string, options: BrowserContextOptions): Promise<Tab> {
    const watched = await watchedPage(browser, url, options);
    const session = await watched.context.newCDPSession(watched.page);
    const userAgent = await watched.page.evaluate(() => navigator.userAgent);
    const speak = (locale: string) =>
      session.send('Emulation.setUserAgentOverride', { userAgent, acceptLanguage: locale });
    return { ...watched, speak };
  }

  async function takeBack(kind: string, watched: Tab): Promise<void> {
    await watched.page.goto('about:blank');
    await watched.context.clearCookies();
    idle.set(kind, [...(idle.get(kind) ?? []), watched]);
  }

  return {
    async use(url, run, { own = false, locale = 'en-GB', viewport = DESKTOP, ...options } = {}) {
      if (own) {
        const watched = await watchedPage(browser, url, { ...options, locale, viewport });
        return run(watched).finally(() => watched.context.close());
      }
      const kind = JSON.stringify(options);
      const watched = await lend(kind, url, options);
      try {
        await watched.page.setViewportSize(viewport ?? DESKTOP);
        await watched.speak(locale);
        await run(watched);
      } catch (error) {
        await watched.context.close();
        throw error;
      }
      await takeBack(kind, watched);
    },
  };
}
