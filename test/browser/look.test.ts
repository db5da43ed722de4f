/** How the page looks to axe, to a small screen, to large text, to a finger; and what it weighs. */
import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import type { Browser, Page } from 'playwright-core';
import { drillReport, drillRound } from '../support/drill-report.ts';
import { launch, watchedPage } from './support/browser.ts';
import { busyHistory, busyHome, VIEWS } from './support/busy-home.ts';
import { SPOKEN } from './support/languages.ts';
import { builtPage, type ScriptedServer, scriptedServer } from './support/scripted-server.ts';

let browser: Browser;
let built: Awaited<ReturnType<typeof builtPage>>;
let server: ScriptedServer;
let axe: string;

before(async () => {
  [browser, built, axe] = await Promise.all([
    launch(),
    builtPage(),
    readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8'),
  ]);
  server = await scriptedServer(built.folder, busyHome());
  server.home.remember(busyHistory());
  const rounds = [drillRound(), drillRound({ stream: true })];
  server.drills.finish(drillReport({ rounds }));
});
after(async () => {
  await browser.close();
  await server.close();
  await built.remove();
});

async function open(page: Page, view: (typeof VIEWS)[number]): Promise<void> {
  await page.goto(`${server.url}#/${view}`);
  await page.locator('h1').waitFor();
  const last = { home: '.event', events: '.event', connect: '#broker-title', checkup: '.drills .event' };
  await page.locator(last[view]).first().waitFor();
}

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string }[];
}

async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  const found = await page.evaluate(async () => {
    const run = (window as unknown as { axe: { run(): Promise<{ violations: Violation[] }> } }).axe;
    return (await run.run()).violations;
  });
  return found.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(' | ')}`);
}

describe('the page', () => {
  it('weighs at most 40 kB of script and 8 kB of style until a rarer view is opened', async () => {
    const folder = join(built.folder, 'assets');
    let style = 0;
    let script = 0;
    let language = 0;
    const html = await readFile(join(built.folder, 'index.html'), 'utf8');
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
    it(`has no violation that axe finds, in any view, theme or width (${locale})`, async () => {
      for (const colorScheme of ['light', 'dark'] as const) {
        for (const width of [360, 1280]) {
          const { page, context } = await watchedPage(browser, server.url, {
            locale,
            colorScheme,
            viewport: { width, height: 800 },
            bypassCSP: true,
          });
          for (const view of VIEWS) {
            await open(page, view);
            assert.deepEqual(await violations(page), [], `${view} ${colorScheme} ${width}`);
          }
          await context.close();
        }
      }
    });
  }

  it('has no violation in forced colours', async () => {
    const { page, context } = await watchedPage(browser, server.url, {
      forcedColors: 'active',
      bypassCSP: true,
    });
    for (const view of VIEWS) {
      await open(page, view);
      assert.deepEqual(await violations(page), [], view);
    }
    await context.close();
  });

  for (const { locale } of SPOKEN) {
    it(`scrolls in one direction only, at 320 px and with text at 200 % (${locale})`, async () => {
      const { page, context } = await watchedPage(browser, server.url, {
        locale,
        viewport: { width: 320, height: 700 },
      });
      for (const view of VIEWS) {
        await open(page, view);
        assert.equal(await sideways(page), 0, `${view} at 320 px`);
        await page.setViewportSize({ width: 640, height: 700 });
        await page.evaluate(() => document.documentElement.style.setProperty('font-size', '200%'));
        assert.equal(await sideways(page), 0, `${view} at 200 %`);
        await page.setViewportSize({ width: 320, height: 700 });
        await page.evaluate(() => document.documentElement.style.removeProperty('font-size'));
      }
      await context.close();
    });
  }

  for (const { locale } of SPOKEN) {
    it(`has targets of at least 44 px (${locale})`, async () => {
      for (const width of [320, 360, 1280]) {
        const { page, context } = await watchedPage(browser, server.url, {
          locale,
          viewport: { width, height: 800 },
        });
        for (const view of VIEWS) {
          await open(page, view);
          assert.deepEqual(await smallTargets(page), [], `${view} ${width}`);
        }
        await context.close();
      }
    });
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
