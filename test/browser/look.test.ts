/** How the page looks to axe, to a small screen, to large text, to a finger; and what it weighs. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import { drillReport, drillRound } from '../support/drill-report.ts';
import { busyHistory, busyHome, VIEWS } from './support/busy-home.ts';
import { SPOKEN } from './support/languages.ts';
import { pageTests } from './support/page-tests.ts';

const tests = pageTests();
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

type ViewName = (typeof VIEWS)[number];

const LAST: Readonly<Record<ViewName, string>> = {
  home: '.event',
  events: '.event',
  connect: '#broker-title',
  checkup: '.drills .event',
};

/** Opens the page once, and shows one view after the other. */
function look(locale: string, each: (page: Page, view: ViewName) => Promise<void>): Promise<void> {
  return tests.useServer(
    async ({ page }, server) => {
      server.home.remember(busyHistory());
      server.drills.finish(drillReport({ rounds: [drillRound(), drillRound({ stream: true })] }));
      await page.goto(server.url);
      for (const view of VIEWS) {
        await page.evaluate((hash) => location.assign(hash), `#/${view}`);
        await page.locator(`.nav a[href="#/${view}"][aria-current=page]`).waitFor();
        await page.locator(LAST[view]).first().waitFor();
        await each(page, view);
      }
    },
    { home: busyHome(), browser: { locale, bypassCSP: true, reducedMotion: 'reduce' } },
  );
}

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string }[];
}

/** Those of axe's rules that see colours, of those that it applies unasked. */
const COLOUR_RULES = ['color-contrast', 'link-in-text-block'];

/** By all of axe's rules, or by some alone. */
async function violations(page: Page, rules?: readonly string[]): Promise<string[]> {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe);
  const found = await page.evaluate(async (only) => {
    const { axe } = window as unknown as { axe: { run(o: object): Promise<{ violations: Violation[] }> } };
    // What axe lists besides is not read, and costs more than the search.
    const options = { resultTypes: ['violations'], preload: false };
    return (await axe.run(only === undefined ? options : { ...options, runOnly: [...only] })).violations;
  }, rules);
  return found.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(' | ')}`);
}

describe('the page', () => {
  it('weighs at most 40 kB of script and 8 kB of style until a rarer view is opened', async () => {
    const folder = join(tests.webRoot, 'assets');
    let style = 0;
    let script = 0;
    let language = 0;
    const html = await readFile(join(tests.webRoot, 'index.html'), 'utf8');
    for (const name of await readdir(folder)) {
      const size = gzipSync(await readFile(join(folder, name)), { level: 9 }).length;
      if (name.endsWith('.css')) style += size;
      else if (/^(ko|zh)-(?!drill)/.test(name)) language = Math.max(language, size);
      else if (html.includes(name)) script += size;
      else assert.ok(size <= 5_000, `${name} ${size}`);
    }
    assert.ok(style <= 8_000, `style ${style}`);
    assert.ok(script + language <= 40_000, `script ${script} and the largest language ${language}`);
  });

  for (const { locale } of SPOKEN) {
    it(`has no violation that axe finds, in any view, theme or width (${locale})`, () =>
      look(locale, async (page, view) => {
        for (const width of [360, 1280]) {
          await page.setViewportSize({ width, height: 800 });
          assert.deepEqual(await violations(page), [], `${view} light ${width}`);
          // A theme is colours and nothing else.
          await page.emulateMedia({ colorScheme: 'dark' });
          assert.deepEqual(await violations(page, COLOUR_RULES), [], `${view} dark ${width}`);
          await page.emulateMedia({ colorScheme: 'light' });
        }
      }));
  }

  it('has no violation in forced colours', () =>
    look('en-GB', async (page, view) => {
      await page.emulateMedia({ forcedColors: 'active' });
      assert.deepEqual(await violations(page), [], view);
      await page.emulateMedia({ forcedColors: 'none' });
    }));

  for (const { locale } of SPOKEN) {
    it(`scrolls in one direction only, at 320 px and with text at 200 % (${locale})`, () =>
      look(locale, async (page, view) => {
        await page.setViewportSize({ width: 320, height: 700 });
        assert.equal(await sideways(page), 0, `${view} at 320 px`);
        await page.setViewportSize({ width: 640, height: 700 });
        await page.evaluate(() => document.documentElement.style.setProperty('font-size', '200%'));
        assert.equal(await sideways(page), 0, `${view} at 200 %`);
        await page.evaluate(() => document.documentElement.style.removeProperty('font-size'));
      }));

    it(`has targets of at least 44 px (${locale})`, () =>
      look(locale, async (page, view) => {
        for (const width of [320, 360, 1280]) {
          await page.setViewportSize({ width, height: 800 });
          assert.deepEqual(await smallTargets(page), [], `${view} ${width}`);
        }
      }));
  }
});

async function sideways(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
}

/** Of everything that can be pressed, what is lower or narrower than 44 px; a label counts for its input. */
async function smallTargets(page: Page): Promise<string[]> {
  return page.locator('a:not(.skip), button, select, input, textarea, summary').evaluateAll((all) =>
    all
      .filter((one) => one.checkVisibility())
      .map((one) => ({ one, box: (one.closest('label') ?? one).getBoundingClientRect() }))
      .filter(({ box }) => Math.round(box.height) < 44 || Math.round(box.width) < 44)
      .map(({ one, box }) => `${one.outerHTML.slice(0, 80)} ${box.width}x${box.height}`),
  );
}
