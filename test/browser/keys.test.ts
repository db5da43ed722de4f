/** The chat box where the model API is locked by keys. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { SPOKEN } from './support/languages.ts';
import { pageTests, type Run } from './support/page-tests.ts';
import type { Locks } from './support/scripted-server.ts';

const tests = pageTests();

const KEY = '우리집 key';

function locked(run: Run, locks: Locks, locale = 'en-GB'): Promise<void> {
  return tests.useServer(run, { ...locks, browser: { locale } });
}

for (const { locale, words, connect } of SPOKEN) {
  describe(`the chat box of an open page whose models need a key (${locale})`, () => {
    it('asks for the key, sends the question again with it, and forgets it with the tab', () =>
      locked(
        async ({ page }, server) => {
          const key = page.getByLabel(words.chat.keyField);
          await page.goto(server.url);
          await say(page, words.chat.message, connect.greeting);
          await page.getByText(words.chat.keyNeeded).waitFor();
          assert.ok(await key.evaluate((field) => field === document.activeElement));
          await page.keyboard.type('a guess');
          await page.keyboard.press('Enter');
          await page.getByText(words.chat.keyWrong).waitFor();
          await key.fill(KEY);
          await page.keyboard.press('Enter');
          const first = await server.chat.next();
          assert.deepEqual((first.body as { messages: unknown }).messages, [
            { role: 'user', content: connect.greeting },
          ]);
          first.head('gpu');
          first.say('One');
          first.finish();
          await page.locator('.turn-meta').waitFor();
          assert.equal(await page.locator('.turn').count(), 1);
          await say(page, words.chat.message, connect.greeting);
          (await server.chat.next()).fail(503, 'Not now.');
          await page.getByText('Not now.').waitFor();
          assert.deepEqual(await stored(page), []);
          await page.reload();
          await say(page, words.chat.message, connect.greeting);
          await page.getByText(words.chat.keyNeeded).waitFor();
        },
        { apiKeys: [KEY] },
        locale,
      ));

    it('says how long to wait after too many guesses', () =>
      locked(
        async ({ page }, server) => {
          const key = page.getByLabel(words.chat.keyField);
          await page.goto(server.url);
          await say(page, words.chat.message, connect.greeting);
          // A guess is given back every few seconds, so that their number is not fixed.
          for (let guess = 0, status = 401; status === 401; guess++) {
            assert.ok(guess < 50, 'nothing bounds the guesses');
            const answered = page.waitForResponse((answer) => answer.url().endsWith('/completions'));
            await key.fill(`guess ${guess}`);
            await page.keyboard.press('Enter');
            status = (await answered).status();
            await page.locator('.turn').waitFor({ state: 'detached' });
          }
          const [before = ''] = words.login.wait('|').split('|');
          await page.getByText(before).waitFor();
        },
        { apiKeys: [KEY] },
        locale,
      ));
  });
}

describe('the chat box of a page that was opened with the admin token', () => {
  it('needs no key', () =>
    locked(
      async ({ page }, server) => {
        await page.goto(server.url);
        await page.getByLabel('Token').fill('secret token');
        await page.keyboard.press('Enter');
        await say(page, 'Message', 'Hello');
        const answer = await server.chat.next();
        answer.head('gpu');
        answer.say('One');
        answer.finish();
        await page.locator('.turn-text', { hasText: 'One' }).waitFor();
      },
      { token: 'secret token', apiKeys: [KEY] },
    ));
});

async function say(page: Page, box: string, question: string): Promise<void> {
  await page.getByRole('textbox', { name: box, exact: true }).fill(question);
  await page.keyboard.press('Enter');
}

/** Everything that the browser keeps of the page. */
function stored(page: Page): Promise<string[]> {
  return page.evaluate(() =>
    [...Object.values(localStorage), ...Object.values(sessionStorage), document.cookie].filter(
      (kept) => kept !== '',
    ),
  );
}
