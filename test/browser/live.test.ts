/** The page and its server: away, silent, restarted, locked, hidden. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { until } from '../support/until.ts';
import { labelled, SPOKEN } from './support/languages.ts';
import { pageTests, type Run } from './support/page-tests.ts';
import type { ScriptedServer } from './support/scripted-server.ts';
import type { TabOptions } from './support/tabs.ts';
import { aModel, someFacts } from './support/views.ts';

const tests = pageTests();

function live(run: Run, options: TabOptions = {}, token: string | null = null): Promise<void> {
  return tests.useServer(run, { browser: options, token });
}

/** Opens the page, which has just heard its server; from then on time passes only where the test says so. */
async function standStill(page: Page, server: ScriptedServer): Promise<void> {
  await page.clock.install();
  await page.goto(server.url);
  await page.locator('h1.tone-well').waitFor();
  await page.clock.pauseAt(Date.now() + 10_000);
  server.home.show({ models: [aModel({ status: 'stopped', placement: 'none' })] });
  await page.locator('.state-asleep').waitFor();
  server.home.show({ models: [aModel()] });
  await page.locator('.state-ready').waitFor();
}

/** Lets time pass until the page has noticed that its connection broke. */
async function triesAgain(page: Page): Promise<void> {
  let tried = false;
  page.once('request', (request) => {
    tried = request.url().includes('/stream');
  });
  await until(async () => {
    await page.clock.runFor(50);
    return tried;
  });
}

describe('a server that is away', () => {
  for (const { locale, words } of SPOKEN) {
    it(`is told within five seconds, ages the data, and comes back by itself (${locale})`, () =>
      live(
        async ({ page }, server) => {
          await standStill(page, server);
          await server.wire.cut();
          await triesAgain(page);
          await page.clock.runFor(5000);
          await page.getByText(words.link.away).waitFor();
          const button = page.getByRole('button', { name: labelled(words.model.unload, 'chat') });
          assert.equal(await button.getAttribute('aria-disabled'), 'true');
          await button.click({ force: true });
          assert.deepEqual(server.home.asked, []);
          server.home.show({ models: [aModel({ status: 'stopped', placement: 'none' })] });
          await server.wire.mend();
          await page.clock.resume();
          await page.getByText(words.link.away).waitFor({ state: 'detached' });
          await page.locator('.state-asleep').waitFor();
        },
        { locale, own: true },
      ));
  }

  it('is not told when it comes back at once, nor on a reload', () =>
    live(
      async ({ page }, server) => {
        await page.addInitScript(() => {
          const seen = window as unknown as { flashed?: boolean };
          new MutationObserver(() => {
            if (document.querySelector('.note-bad') !== null) seen.flashed = true;
          }).observe(document, { childList: true, subtree: true });
        });
        await standStill(page, server);
        await server.wire.mend();
        await triesAgain(page);
        server.home.show({ models: [aModel({ status: 'busy' })] });
        await page.locator('.state-answering').waitFor();
        await page.reload();
        await page.locator('.state-answering').waitFor();
        assert.equal(
          await page.evaluate(() => (window as unknown as { flashed?: boolean }).flashed),
          undefined,
        );
      },
      { own: true },
    ));

  it('is told within 40 s when the network is silent', () =>
    live(
      async ({ page }, server) => {
        await standStill(page, server);
        server.wire.silence();
        await page.clock.fastForward(34_000);
        assert.equal(await page.locator('.note-bad').count(), 0);
        await page.clock.runFor(5000);
        await page.locator('.note-bad').waitFor();
        await server.wire.mend();
        await page.clock.resume();
        await page.locator('.note-bad').waitFor({ state: 'detached' });
      },
      { own: true },
    ));
});

for (const { locale, words, format } of SPOKEN) {
  describe(`events on the way (${locale})`, () => {
    it('come once each and none is missing, through a break', () =>
      live(
        async ({ page }, server) => {
          const numbered = (from: number, to: number) =>
            Array.from(
              { length: to - from + 1 },
              (_, i) => ({ type: 'setting_changed', key: `k${from + i}` }) as const,
            );
          server.home.remember(someFacts(numbered(1, 20)));
          await page.goto(`${server.url}#/events`);
          await page.locator('.event p', { hasText: 'k20' }).waitFor();
          server.home.tell(...numbered(21, 30));
          await page.locator('.event p', { hasText: 'k30' }).waitFor();
          await server.wire.cut();
          server.home.tell(...numbered(31, 40));
          await server.wire.mend();
          await page.locator('.event p', { hasText: 'k40' }).waitFor();
          server.home.tell(...numbered(41, 41));
          await page.locator('.event p', { hasText: 'k41' }).waitFor();
          const said = await page.locator('.event p').allInnerTexts();
          assert.deepEqual(
            said.map((text) => /k(\d+)/.exec(text)?.[1]),
            Array.from({ length: 41 }, (_, i) => String(41 - i)),
          );
        },
        { locale },
      ));

    it('start anew, with a fresh state, when the server lost its numbers', () =>
      live(
        async ({ page }, server) => {
          const before = someFacts([{ type: 'gpu_lost' }, { type: 'gpu_back' }, { type: 'broker_lost' }]);
          server.home.remember(before);
          await page.goto(`${server.url}#/events`);
          await page.getByText(words.facts.gpu_back(before[1] ?? assert.fail(), format)).waitFor();
          const anew = someFacts([{ type: 'config_reloaded' }]);
          server.home.remember(anew);
          server.home.show({ models: [aModel({ status: 'stopped', placement: 'none' })] });
          await server.wire.mend();
          await page.getByText(words.facts.config_reloaded(anew[0] ?? assert.fail(), format)).waitFor();
          assert.equal(await page.locator('.event').count(), 1);
          await page.evaluate(() => location.assign('#/home'));
          await page.getByText(words.headline.asleep(1)).waitFor();
        },
        { locale },
      ));
  });
}

describe('a locked page', () => {
  it('shows nothing before the token, and opens with it', () =>
    live(
      async ({ page }, server) => {
        await page.goto(server.url);
        await page.getByRole('heading', { name: 'This page is locked' }).waitFor();
        assert.doesNotMatch((await page.locator('body').textContent()) ?? '', /chat|GPU|GiB/);
        await page.getByLabel('Token').fill('wrong');
        await page.keyboard.press('Enter');
        await page.getByText('That token is not right.').waitFor();
        await page.getByLabel('Token').fill('secret token');
        await page.keyboard.press('Enter');
        await page.locator('h1.tone-well').waitFor();
        await page.reload();
        await page.locator('h1.tone-well').waitFor();
      },
      {},
      'secret token',
    ));
});

describe('a hidden tab', () => {
  it('gives its connection up, and catches up at once when it is shown', () =>
    live(
      async ({ page }, server) => {
        await page.clock.install();
        await page.goto(server.url);
        await page.locator('h1.tone-well').waitFor();
        const setHidden = (hidden: boolean) =>
          page.evaluate((now) => {
            Object.defineProperty(document, 'hidden', { value: now, configurable: true });
            document.dispatchEvent(new Event('visibilitychange'));
          }, hidden);
        const before = server.wire.open();
        await setHidden(true);
        await until(() => server.wire.open() < before);
        server.home.tell({ type: 'gpu_lost' });
        // Time stands still: what is seen now waited for no timer.
        await page.clock.pauseAt(Date.now() + 3_600_000);
        await setHidden(false);
        await page.getByText('The GPU is gone.').waitFor();
        assert.equal(await page.locator('.note-bad').count(), 0);
      },
      { own: true },
    ));
});
