/** A drill on the page: what it asks before, what it shows while it runs, and its report. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { AppError } from '../../app/errors.ts';
import { drillReport, drillRound } from '../support/drill-report.ts';
import { until } from '../support/until.ts';
import { pageTests } from './support/page-tests.ts';
import type { ScriptedServer } from './support/scripted-server.ts';
import type { TabOptions } from './support/tabs.ts';
import { koreanTime } from './support/views.ts';

const tests = pageTests();

function checkup(
  run: (page: Page, server: ScriptedServer, faults: readonly string[]) => Promise<void>,
  options: TabOptions = {},
): Promise<void> {
  return tests.useServer(
    async ({ page, faults }, server) => {
      await page.goto(`${server.url}#/checkup`);
      await page.locator('#drills-title').waitFor();
      await run(page, server, faults);
    },
    { browser: options },
  );
}

test('it says what will stop, asks, tells that it runs, and shows the report', () =>
  checkup(async (page, server, faults) => {
    await page.getByText('No drill has run yet.').waitFor();
    await page.getByLabel('What happens').selectOption('hang');
    await page.getByRole('button', { name: 'Run the drill' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('chat is frozen twice').waitFor();
    assert.deepEqual(server.drills.asked, []);
    await dialog.getByRole('button', { name: 'Run the drill' }).click();
    await page.getByText('Waiting for a free moment').waitFor();
    await until(() => server.drills.asked.length > 0);
    assert.deepEqual(server.drills.asked, [{ scenario: 'hang', model: 'chat' }]);

    server.home.show({ drill: { scenario: 'hang', model: 'chat', since: koreanTime(Date.now()) } });
    server.drills.begin();
    await page.getByText(/Frozen in mid-answer: chat, for/).waitFor();
    const button = page.getByRole('button', { name: 'Run the drill' });
    await until(async () => (await button.getAttribute('aria-disabled')) === 'true');

    server.drills.finish(
      drillReport({ scenario: 'hang', rounds: [drillRound(), drillRound({ stream: true })] }),
    );
    server.home.show({ drill: null });
    const report = page.locator('.drills .event');
    await report.getByText('Passed').first().waitFor();
    await report.getByText('Details').click();
    await report.getByText('Streamed answer: Passed').waitFor();
    await report.getByText('3 compared, all untouched').waitFor();
    assert.equal(await report.getByText('GPU to CPU').count(), 2);
    await until(async () => (await button.getAttribute('aria-disabled')) === 'false');
    assert.deepEqual(faults, []);
  }));

test('"no" runs nothing, and a refusal is told in words', () =>
  checkup(async (page, server) => {
    const button = page.getByRole('button', { name: 'Run the drill' }).first();
    await button.click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    assert.deepEqual(server.drills.asked, []);
    await button.click();
    await page.getByRole('dialog').getByRole('button', { name: 'Run the drill' }).click();
    await until(() => server.drills.asked.length === 1);
    server.drills.finish(new AppError('drill_refused', 'The GPU is in use by another container (jellyfin).'));
    await page.getByRole('alert').getByText('jellyfin').waitFor();
  }));

test('a drill that means nothing here is reported at once', () =>
  checkup(async (page, server) => {
    await page.getByRole('button', { name: 'Run the drill' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Run the drill' }).click();
    await until(() => server.drills.asked.length === 1);
    server.drills.finish(drillReport({ verdict: 'not_applicable', rounds: [], why: 'No GPU here.' }));
    await page.locator('.drills .event').getByText('Not applicable').waitFor();
  }));

for (const [locale, words] of [
  ['ko-KR', ['장애 훈련', '훈련 시작', 'chat 모델에 일부러 장애를 일으킬까요?']],
  ['zh-CN', ['故障演练', '开始演练', '要有意让 chat 出故障吗？']],
] as const) {
  test(`it speaks ${locale} and fits a phone`, () =>
    checkup(
      async (page, server) => {
        await page.getByRole('heading', { name: words[0] }).waitFor();
        const button = page.getByRole('button', { name: words[1] });
        await button.click();
        await page.getByText(words[2]).waitFor();
        await page.keyboard.press('Escape');
        server.home.show({ drill: { scenario: 'kill', model: 'chat', since: koreanTime(Date.now()) } });
        await button.and(page.locator('[aria-disabled=true]')).waitFor();
        server.drills.finish(drillReport());
        server.home.show({ drill: null });
        await page.locator('.drills .event summary').first().click();
        const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
        assert.equal(wide, false);
      },
      { locale, viewport: { width: 360, height: 740 } },
    ));
}
