/** Home in a real browser: what it tells, that it leaves nothing out, that it hides nothing. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser, CDPSession } from 'playwright-core';
import { until } from '../support/until.ts';
import { launch, watchedPage } from './support/browser.ts';
import { SPOKEN } from './support/languages.ts';
import { builtPage, type ScriptedServer, scriptedServer } from './support/scripted-server.ts';
import { aModel, anInstance, koreanTime, someFacts } from './support/views.ts';

let browser: Browser;
let built: Awaited<ReturnType<typeof builtPage>>;
let server: ScriptedServer;

before(async () => {
  [browser, built] = await Promise.all([launch(), builtPage()]);
});
after(async () => {
  await browser.close();
  await built.remove();
});

async function withServer(
  first: Parameters<typeof scriptedServer>[1],
  run: () => Promise<void>,
): Promise<void> {
  server = await scriptedServer(built.folder, first);
  try {
    await run();
    assert.deepEqual(server.errors, []);
  } finally {
    await server.close();
  }
}

describe('Home', () => {
  it('asks nothing of the network but its own server, and leaves the console empty', () =>
    withServer({}, async () => {
      server.home.remember(
        someFacts([{ type: 'model_loaded', model: 'chat', placement: 'gpu', seconds: 12 }]),
      );
      for (const { locale } of SPOKEN) {
        const { page, context, faults } = await watchedPage(browser, server.url, { locale });
        await page.goto(server.url);
        await page.locator('.latest .event').first().waitFor();
        for (const view of ['events', 'connect', 'home']) {
          await page.evaluate((hash) => location.assign(hash), `#/${view}`);
          await page.locator(`.nav a[href="#/${view}"][aria-current=page]`).waitFor();
        }
        assert.equal(await page.locator('html').getAttribute('lang'), locale.slice(0, 2));
        assert.deepEqual(faults, []);
        await context.close();
      }
    }));

  for (const { locale } of SPOKEN) {
    it(`has its sentence after a second's work of a slow machine (${locale})`, () =>
      withServer({}, async () => {
        const spent = await workUntilSentence(server.url, locale);
        assert.ok(spent * SLOWER < 1000, `${spent} ms here, ${SLOWER} times that there`);
      }));
  }

  it('sends a command once, and shows what the server then tells', () =>
    withServer({ models: [aModel({ status: 'stopped', placement: 'none' })], instances: [] }, async () => {
      const { page, context, faults } = await watchedPage(browser, server.url);
      await page.goto(server.url);
      const asked = page.waitForResponse((response) => response.url().endsWith('/load'));
      await page.getByRole('button', { name: 'Load: chat' }).dblclick();
      await asked;
      server.home.show({
        models: [aModel({ status: 'starting', placement: 'none' })],
        instances: [anInstance({ state: 'starting', measured: null, since: koreanTime(Date.now()) })],
      });
      await page.locator('.state', { hasText: 'Starting' }).waitFor();
      await page.getByText(/of about 12.s/).waitFor();
      assert.deepEqual(server.home.asked, [{ kind: 'command', command: { do: 'load', model: 'chat' } }]);
      assert.deepEqual(faults, []);
      await context.close();
    }));

  it('sets mode and keep loaded', () =>
    withServer({}, async () => {
      server.home.onAsked((asked) => {
        if (asked.kind !== 'setting') return;
        const key = asked.key === 'models.chat.mode' ? 'mode' : 'keepLoaded';
        server.home.show({ models: [{ ...server.home.view().models[0], [key]: asked.value } as never] });
      });
      const { page, context } = await watchedPage(browser, server.url);
      await page.goto(server.url);
      await page.getByRole('radio', { name: 'CPU' }).check({ force: true });
      await page.getByRole('checkbox', { name: 'Keep loaded' }).check();
      await page.getByText('stays loaded').waitFor();
      assert.deepEqual(server.home.asked, [
        { kind: 'setting', key: 'models.chat.mode', value: 'cpu' },
        { kind: 'setting', key: 'models.chat.keepLoaded', value: true },
      ]);
      await context.close();
    }));

  it('asks before it unloads a model that is answering', () =>
    withServer({ models: [aModel({ status: 'busy' })], instances: [anInstance({ leases: 1 })] }, async () => {
      const { page, context } = await watchedPage(browser, server.url);
      await page.goto(server.url);
      const unload = page.getByRole('button', { name: 'Unload: chat' });
      await unload.click();
      await page.getByRole('dialog').getByText('1 request is running').waitFor();
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      assert.deepEqual(server.home.asked, []);
      assert.ok(await unload.evaluate((button) => button === document.activeElement));
      await unload.click();
      await page.getByRole('dialog').getByRole('button', { name: 'Unload' }).click();
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      await until(() => server.home.asked.length === 1);
      await context.close();
    }));

  it('shows a problem with its fix in the language, and drops it when it is solved', () =>
    withServer({}, async () => {
      const { page, context } = await watchedPage(browser, server.url, { locale: 'ko-KR' });
      await page.goto(server.url);
      const params = { folder: '/DATA/models' };
      server.home.show({
        problems: [{ code: 'models_folder_empty', text: 'English', fix: 'Fix', params }],
      });
      await page.getByText('모델 폴더 /DATA/models에').waitFor();
      await page.getByText('해결 방법').waitFor();
      server.home.show({ problems: [] });
      await page.locator('.problem').waitFor({ state: 'detached' });
      await context.close();
    }));

  it('begins another view at its top, and leaves the reader in place while one is filtered', () =>
    withServer({}, async () => {
      const said = Array.from({ length: 40 }, () => ({ type: 'config_reloaded' }) as const);
      server.home.remember(someFacts(said));
      const { page, context } = await watchedPage(browser, server.url, {
        viewport: { width: 390, height: 600 },
      });
      await page.goto(server.url);
      await page.locator('.latest').scrollIntoViewIfNeeded();
      await page.locator('.nav a[href="#/events"]').click();
      await page.locator('.event-list').waitFor();
      assert.equal(await page.evaluate(() => scrollY), 0);
      await page.evaluate(() => scrollTo(0, 100));
      await page.getByRole('searchbox').pressSequentially('read');
      assert.equal(await page.evaluate(() => scrollY), 100);
      await context.close();
    }));

  it('speaks another language at once, and the next time too', () =>
    withServer({}, async () => {
      const { page, context } = await watchedPage(browser, server.url);
      await page.goto(server.url);
      await page.getByRole('combobox', { name: 'Language' }).selectOption('ko');
      await page.getByRole('heading', { level: 1, name: '모두 정상입니다' }).waitFor();
      await page.reload();
      await page.getByRole('heading', { level: 1, name: '모두 정상입니다' }).waitFor();
      assert.equal(await page.locator('html').getAttribute('lang'), 'ko');
      await context.close();
    }));
});

/** A small NAS's processor, or an old phone's, against this one. */
const SLOWER = 4;

/**
 * Milliseconds of the processor that a first visit spends on the page's thread until the sentence stands. Time by
 * the clock would measure what else this machine does.
 */
async function workUntilSentence(url: string, locale: string): Promise<number> {
  const { page, context } = await watchedPage(browser, url, { locale });
  const session = await context.newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  const before = await work(session);
  await page.goto(url);
  await page.locator('h1.tone-well').waitFor();
  const spent = (await work(session)) - before;
  await context.close();
  return spent;
}

async function work(session: CDPSession): Promise<number> {
  const { metrics } = await session.send('Performance.getMetrics');
  const seconds = metrics.find(({ name }) => name === 'TaskDuration')?.value;
  return (seconds ?? Number.NaN) * 1000;
}
