/** Home in a real browser: what it tells, that it leaves nothing out, that it hides nothing. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { CDPSession } from 'playwright-core';
import { until } from '../support/until.ts';
import type { Watched } from './support/browser.ts';
import { SPOKEN } from './support/languages.ts';
import { pageTests } from './support/page-tests.ts';
import { aModel, anInstance, koreanTime, someFacts } from './support/views.ts';

const tests = pageTests();

describe('Home', () => {
  for (const { locale, language } of SPOKEN) {
    it(`asks nothing of the network but its own server, and leaves the console empty (${locale})`, () =>
      tests.useServer(
        async ({ page, faults }, server) => {
          server.home.remember(
            someFacts([{ type: 'model_loaded', model: 'chat', placement: 'gpu', seconds: 12 }]),
          );
          await page.goto(server.url);
          await page.locator('.latest .event').first().waitFor();
          for (const view of ['events', 'connect', 'home']) {
            await page.evaluate((hash) => location.assign(hash), `#/${view}`);
            await page.locator(`.nav a[href="#/${view}"][aria-current=page]`).waitFor();
          }
          assert.equal(await page.locator('html').getAttribute('lang'), language);
          assert.deepEqual(faults, []);
        },
        { browser: { locale } },
      ));

    it(`has its sentence after a second's work of a slow machine (${locale})`, () =>
      tests.useServer(
        async (watched, server) => {
          const { known, sentence } = await workUntilSentence(watched, server.url);
          assert.equal(await watched.page.locator('html').getAttribute('lang'), language);
          const there = (sentence / known) * KNOWN_MS;
          assert.ok(there < 1000, `${there} ms there: ${sentence} here, where what is known takes ${known}`);
        },
        // A tab that was used before has less to do.
        { browser: { locale, own: true } },
      ));
  }

  it('tells on the card of a loaded model what was learned of the place where it runs', () =>
    tests.useServer(async ({ page, faults }, server) => {
      await page.goto(server.url);
      const figures = page.locator('.model-head + .figures');
      await figures.getByText('Uses').waitFor();
      assert.equal(await figures.getByText('Speed').count(), 0);
      const tokensPerSecond = {
        gpu: { prompt: 812.4, generation: 31.6 },
        cpu: { prompt: 40, generation: 5 },
      };
      server.home.show({ models: [aModel({ tokensPerSecond, answerTokens: 180 })] });
      const gpu = 'reads 812 tokens/s, writes 32 tokens/s · answers about 180 tokens';
      await figures.getByText(gpu, { exact: true }).waitFor();
      server.home.show({
        models: [aModel({ placement: 'cpu', tokensPerSecond })],
        instances: [anInstance({ placement: 'cpu' })],
      });
      await figures.getByText('reads 40 tokens/s, writes 5.0 tokens/s', { exact: true }).waitFor();
      assert.deepEqual(faults, []);
    }));

  it('sends a command once, and shows what the server then tells', () =>
    tests.useServer(
      async ({ page, faults }, server) => {
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
      },
      { home: { models: [aModel({ status: 'stopped', placement: 'none' })], instances: [] } },
    ));

  it('sets mode and keep loaded', () =>
    tests.useServer(async ({ page }, server) => {
      server.home.onAsked((asked) => {
        if (asked.kind !== 'setting') return;
        const key = asked.key === 'models.chat.mode' ? 'mode' : 'keepLoaded';
        server.home.show({ models: [{ ...server.home.view().models[0], [key]: asked.value } as never] });
      });
      await page.goto(server.url);
      await page.getByRole('radio', { name: 'CPU' }).check({ force: true });
      await page.getByRole('checkbox', { name: 'Keep loaded' }).check();
      await page.getByText('stays loaded').waitFor();
      assert.deepEqual(server.home.asked, [
        { kind: 'setting', key: 'models.chat.mode', value: 'cpu' },
        { kind: 'setting', key: 'models.chat.keepLoaded', value: true },
      ]);
    }));

  it('asks before it unloads a model that is answering', () =>
    tests.useServer(
      async ({ page }, server) => {
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
      },
      { home: { models: [aModel({ status: 'busy' })], instances: [anInstance({ leases: 1 })] } },
    ));

  it('shows a problem with its fix in the language, and drops it when it is solved', () =>
    tests.useServer(
      async ({ page }, server) => {
        await page.goto(server.url);
        const params = { folder: '/DATA/models' };
        server.home.show({
          problems: [{ code: 'models_folder_empty', text: 'English', fix: 'Fix', params }],
        });
        await page.getByText('모델 폴더 /DATA/models에').waitFor();
        await page.getByText('해결 방법').waitFor();
        server.home.show({ problems: [] });
        await page.locator('.problem').waitFor({ state: 'detached' });
      },
      { browser: { locale: 'ko-KR' } },
    ));

  it('begins another view at its top, and leaves the reader in place while one is filtered', () =>
    tests.useServer(
      async ({ page }, server) => {
        const said = Array.from({ length: 40 }, () => ({ type: 'config_reloaded' }) as const);
        server.home.remember(someFacts(said));
        await page.goto(server.url);
        await page.locator('.latest').scrollIntoViewIfNeeded();
        await page.locator('.nav a[href="#/events"]').click();
        // Around midnight there is one list for each of two days.
        await page.locator('.event-list').first().waitFor();
        assert.equal(await page.evaluate(() => scrollY), 0);
        await page.evaluate(() => scrollTo(0, 100));
        await page.getByRole('searchbox').pressSequentially('read');
        assert.equal(await page.evaluate(() => scrollY), 100);
      },
      { browser: { viewport: { width: 390, height: 600 } } },
    ));

  it('speaks another language at once, and the next time too', () =>
    tests.useServer(async ({ page }, server) => {
      await page.goto(server.url);
      await page.getByRole('combobox', { name: 'Language' }).selectOption('ko');
      await page.getByRole('heading', { level: 1, name: '모두 정상입니다' }).waitFor();
      await page.reload();
      await page.getByRole('heading', { level: 1, name: '모두 정상입니다' }).waitFor();
      assert.equal(await page.locator('html').getAttribute('lang'), 'ko');
    }));
});

/** What a small NAS's processor, or an old phone's, takes for the known work. */
const KNOWN_MS = 350;

/** As long on each machine as its processor is slow. */
function knownWork(): number {
  let mixed = 1;
  for (let i = 0; i < 60_000_000; i += 1) mixed = Math.imul(mixed ^ i, 16_777_619);
  return mixed;
}

interface Work {
  readonly known: number;
  readonly sentence: number;
}

/**
 * Milliseconds of the processor on the page's thread: for known work, and for a first visit until the sentence stands.
 * Time by the clock would measure what else this machine does.
 */
async function workUntilSentence({ page, context }: Watched, url: string): Promise<Work> {
  const session = await context.newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  const begun = await work(session);
  await page.evaluate(knownWork);
  const before = await work(session);
  await page.goto(url);
  await page.locator('h1.tone-well').waitFor();
  return { known: before - begun, sentence: (await work(session)) - before };
}

async function work(session: CDPSession): Promise<number> {
  const { metrics } = await session.send('Performance.getMetrics');
  const seconds = metrics.find(({ name }) => name === 'TaskDuration')?.value;
  return (seconds ?? Number.NaN) * 1000;
}
