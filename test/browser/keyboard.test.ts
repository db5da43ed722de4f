/** By keyboard alone: everything is reached, the focus is seen and stays, a question is asked and answered. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { busyHistory, busyHome } from './support/busy-home.ts';
import { labelled, SPOKEN } from './support/languages.ts';
import { pageTests } from './support/page-tests.ts';
import type { ScriptedServer } from './support/scripted-server.ts';

const tests = pageTests();

for (const { locale, words, connect, format } of SPOKEN) {
  describe(`by keyboard alone (${locale})`, () => {
    it('everything is reached, the focus is seen, and no update takes it away', () =>
      home(locale, async (page, server) => {
        const reached = new Set<string>();
        for (let i = 0; i < 60; i++) {
          await page.keyboard.press('Tab');
          const focus = await focused(page);
          if (focus === null) break;
          assert.ok(focus.seen, `The focus is not seen on ${focus.name}`);
          reached.add(focus.name);
        }
        assert.ok(reached.size > 20, `${reached.size} reached`);
        const button = page.getByRole('button', { name: labelled(words.model.unload, 'chat') });
        await button.focus();
        server.home.show({ leases: 1 });
        server.home.tell({ type: 'gpu_back' });
        const told = server.home.events.since(0, 100).events.at(-1) ?? assert.fail('Nothing was told');
        await page.locator(`.latest time[datetime="${told.time}"]`).waitFor();
        await page.getByText(words.facts.gpu_back(told, format)).first().waitFor();
        assert.ok(await button.evaluate((one) => one === document.activeElement));
      }));

    it('a question is asked and answered', () =>
      home(locale, async (page, server) => {
        await page.keyboard.press('Tab');
        await page.keyboard.press('Enter');
        for (let i = 0; i < 60; i++) {
          await page.keyboard.press('Tab');
          if (await onChatBox(page)) break;
        }
        await page.keyboard.type(connect.greeting);
        await page.keyboard.press('Enter');
        const answer = await server.chat.next();
        answer.head('cpu');
        answer.say('Good morning');
        answer.finish(12);
        await page.getByText('Good morning').waitFor();
        assert.ok(await onChatBox(page));
      }));

    it('Enter that ends a composition of an input method sends nothing', () =>
      home(locale, async (page, server) => {
        const box = page.getByRole('textbox', { name: words.chat.message });
        await box.focus();
        const session = await page.context().newCDPSession(page);
        await session.send('Input.imeSetComposition', { text: '안녕', selectionStart: 2, selectionEnd: 2 });
        await page.keyboard.press('Enter');
        await session.send('Input.insertText', { text: '안녕' });
        assert.equal(await page.locator('.turn').count(), 0);
        await page.keyboard.press('Enter');
        await page.locator('.turn').waitFor();
        (await server.chat.next()).fail(503, 'Not now.');
        await page.getByText('Not now.').waitFor();
      }));
  });
}

function home(locale: string, run: (page: Page, server: ScriptedServer) => Promise<void>): Promise<void> {
  return tests.useServer(
    async ({ page }, server) => {
      server.home.remember(busyHistory());
      await page.goto(server.url);
      await page.locator('.latest .event').first().waitFor();
      await run(page, server);
    },
    { home: busyHome(), browser: { locale } },
  );
}

const onChatBox = (page: Page) => page.evaluate(() => document.activeElement?.tagName === 'TEXTAREA');

/** Null where nothing has the focus. A radio button shows it on the words beside it. */
function focused(page: Page): Promise<{ name: string; seen: boolean } | null> {
  return page.evaluate(() => {
    const one = document.activeElement;
    if (one === null || one === document.body) return null;
    const shown = one.matches('input[type=radio]') ? (one.nextElementSibling ?? one) : one;
    const { outlineStyle, outlineWidth } = getComputedStyle(shown);
    return {
      name: one.outerHTML.slice(0, 90),
      seen: outlineStyle !== 'none' && Number.parseFloat(outlineWidth) >= 2,
    };
  });
}
