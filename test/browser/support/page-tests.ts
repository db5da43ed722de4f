/** What every file of tests of the page shares: one browser, the built page, pages that are used again. */
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import type { Browser } from 'playwright-core';
import type { View } from '../../../app/core/view.ts';
import { ensurePage } from '../../home/images/page.ts';
import { silent } from '../../home/lib/steps.ts';
import { launch, type Watched } from './browser.ts';
import { type Locks, type ScriptedServer, scriptedServer } from './scripted-server.ts';
import { type TabOptions, type Tabs, tabs } from './tabs.ts';

export type Run = (watched: Watched, server: ScriptedServer) => Promise<void>;

export interface ServerOptions extends Locks {
  readonly home?: Partial<View>;
  readonly browser?: TabOptions;
}

export interface PageTests extends Tabs {
  /** The folder of the built page. */
  readonly webRoot: string;
  /** One page before one scripted server, which must have had no error at the end. */
  useServer(run: Run, options?: ServerOptions): Promise<void>;
}

/** To be called once, at the top of a test file: it sets up before all tests and cleans up after them. */
export function pageTests(): PageTests {
  let browser: Browser | undefined;
  let lent: Tabs | undefined;
  let webRoot = '';
  before(async () => {
    [browser, webRoot] = await Promise.all([launch(), ensurePage(silent)]);
    lent = tabs(browser);
  });
  after(() => browser?.close());
  const use: Tabs['use'] = (...tab) => (lent ?? assert.fail('There is no browser yet')).use(...tab);
  return {
    use,
    get webRoot() {
      return webRoot;
    },
    async useServer(run, { home, browser: options, ...locks } = {}) {
      const server = await scriptedServer(webRoot, home, locks);
      try {
        await use(server.url, (watched) => run(watched, server), options);
        assert.deepEqual(server.errors, []);
      } finally {
        await server.close();
      }
    },
  };
}
