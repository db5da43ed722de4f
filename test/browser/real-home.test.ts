/**
 * The page before the program itself: a real controller with real llama-server containers, in the order in
 * which a person would see it. Two readers look on from the start, and neither ever reloads.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { chat } from '../e2e/support/chat.ts';
import { type Controller, startController } from '../e2e/support/controller.ts';
import { running } from '../e2e/support/wait.ts';
import { ensurePage } from '../home/images/page.ts';
import { until } from '../support/until.ts';
import { launch, type Watched, watchedPage } from './support/browser.ts';

let home: Controller;
let browser: Browser;
let english: Watched;
let korean: Watched;
const readers = (): readonly Watched[] => [english, korean];

before(async () => {
  await ensurePage();
  [home, browser] = await Promise.all([
    startController('browser-real', {
      models: { tiny: { file: 'tiny.gguf', context: 2048, parallel: 4, placements: ['gpu', 'cpu'] } },
    }),
    launch(),
  ]);
  english = await watchedPage(browser, home.url);
  korean = await watchedPage(browser, home.url, {
    locale: 'ko-KR',
    viewport: { width: 390, height: 844 },
  });
});
after(async () => {
  await browser?.close();
  await home?.close();
});

test('it opens, and both readers see the same home', async () => {
  await noteSpoken(english.page);
  await Promise.all(readers().map(({ page }) => page.goto(home.url)));
  await Promise.all(readers().map(({ page }) => page.locator('.state-asleep').waitFor()));
  await english.page.getByRole('heading', { level: 1, name: 'The model is asleep' }).waitFor();
  await korean.page.getByRole('heading', { level: 1, name: '모델은 쉬고 있으며' }).waitFor();
  for (const { page } of readers()) await markAsUnreloaded(page);
});

test('the button loads the model, and its card says where it runs and what it uses', async () => {
  await english.page.getByRole('button', { name: 'Load: tiny' }).click();
  await Promise.all(readers().map(({ page }) => page.locator('.state-ready').waitFor()));
  await home.event('model_loaded');
  assert.match(await home.container('tiny', 'gpu'), /-tiny-gpu-/);
  await english.page.getByRole('heading', { level: 1, name: 'tiny is ready on the GPU' }).waitFor();
  await korean.page.locator('.latest .event', { hasText: 'tiny 모델이 GPU에서 준비됐습니다' }).waitFor();
});

test('a question in the chat box is answered, and its footer says where and how fast', async () => {
  await english.page.getByRole('textbox', { name: 'Message' }).fill('Hello');
  await english.page.keyboard.press('Enter');
  await english.page.locator('.turn-meta', { hasText: /on the GPU · [\d.]+ tokens\/s/ }).waitFor();
  assert.notEqual(await english.page.locator('.turn-answer .turn-text').textContent(), '');
  assert.equal(await english.page.locator('.chat .card-alert').count(), 0);
  // The footer counts while the answer comes; the next test counts the requests that are left.
  await until(async () => (await home.state()).requests.length === 0);
});

test('the GPU dies under a request: the failover stands in the card, step by step, and is said aloud', async () => {
  const victim = await home.container('tiny', 'gpu');
  const pending = chat(home, { id: 'night', tokens: 1500 });
  await running(home, 'night');
  await home.docker('kill', victim);
  const told = 'Someone stopped the container on the GPU. 1 request for tiny continues on the CPU.';
  // A fast machine has the GPU back within seconds: the same steps then stand in the card's last word on it, and
  // the words that were said aloud have made room for others.
  await Promise.all([
    says(english.page, '.step', 'GPU stopped: someone stopped'),
    says(korean.page, '.step', '요청 1건을 옮김'),
    until(async () => (await spokenOn(english.page)).includes(told)),
  ]);
  assert.equal((await pending).placement, 'cpu');
  await english.page.locator('.latest .event', { hasText: told }).waitFor();
});

test('the GPU comes back by itself, and the card says so', async () => {
  await home.event('recovered');
  await english.page.locator('.outage-over .step', { hasText: 'Back on the GPU' }).waitFor();
  await korean.page.locator('.outage-over .step', { hasText: 'GPU로 돌아옴' }).waitFor();
  await Promise.all(readers().map(({ page }) => page.locator('.state-ready').waitFor()));
});

test('Connect names the broker as it runs, and no password on an open page', async () => {
  const { page } = english;
  await page.evaluate(() => location.assign('#/connect'));
  assert.equal(await page.getByLabel('Port', { exact: true }).inputValue(), String(home.mqttPort));
  assert.equal(await page.getByLabel('User name', { exact: true }).inputValue(), 'llamastead');
  await page.getByText(/stands in .*state\.json as brokerPassword/).waitFor();
  assert.equal((await fetch(`${home.url}/admin/connect/broker-password`)).status, 403);
  assert.ok(!(await page.content()).includes(await home.mqttPassword()));
  await page.evaluate(() => location.assign('#/home'));
});

test('the controller is killed and started again: told, then the new state, and each event once', async () => {
  const [instance = ''] = await home.instances();
  await home.kill('SIGKILL');
  await Promise.all(readers().map(({ page }) => page.locator('.note-bad').waitFor()));
  await home.docker('rm', '-f', instance);
  await home.start();
  await Promise.all(
    readers().map(async ({ page }) => {
      await page.locator('.note-bad').waitFor({ state: 'detached' });
      await page.locator('.state-asleep').waitFor();
    }),
  );
  await english.page.getByRole('button', { name: 'Load: tiny' }).click();
  await Promise.all(readers().map(({ page }) => page.locator('.state-ready').waitFor()));
  for (const { page } of readers()) {
    await page.evaluate(() => location.assign('#/events'));
    const newest = home.facts().at(-1)?.seq ?? 0;
    await page.locator(`.event pre:has-text('"seq": ${newest},')`).first().waitFor({ state: 'attached' });
    const numbers = await numbersIn(page);
    assert.deepEqual(
      numbers,
      numbers.map((_, place) => place + 1),
    );
    assert.ok(await page.evaluate(() => 'unreloaded' in window));
  }
});

/** Has the page note all that a screen reader is given to say, from its first document on. */
async function noteSpoken(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const spoken: string[] = [];
    Object.assign(window, { spoken });
    new MutationObserver(() => {
      const words = document.querySelector('[aria-live=polite]')?.textContent ?? '';
      if (words !== spoken.at(-1)) spoken.push(words);
    }).observe(document, { subtree: true, childList: true, characterData: true });
  });
}

const spokenOn = (page: Page) => page.evaluate(() => (window as unknown as { spoken: string[] }).spoken);

async function markAsUnreloaded(page: Watched['page']): Promise<void> {
  await page.evaluate(() => Object.assign(window, { unreloaded: true }));
}

/** Numbers of all events that the list of events holds, in order. */
async function numbersIn(page: Watched['page']): Promise<number[]> {
  const told = await page.locator('.event pre').allTextContents();
  return told.map((text) => (JSON.parse(text) as { seq: number }).seq).sort((a, b) => a - b);
}

/** Asks the page itself: a page that is not in front draws no frames, which is what a locator waits by. */
function says(page: Page, selector: string, words: string): Promise<void> {
  return until(async () =>
    (await page.locator(selector).allTextContents()).some((text) => text.includes(words)),
  );
}
