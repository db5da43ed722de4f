/** The chat box, against a model API that a test writes piece by piece. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { pageTests } from './support/page-tests.ts';
import type { ScriptedServer } from './support/scripted-server.ts';
import { koreanTime } from './support/views.ts';

const tests = pageTests();

function chatting(
  run: (page: Page, server: ScriptedServer) => Promise<void>,
  { locale = 'en-GB', box = 'Message' } = {},
): Promise<void> {
  return tests.useServer(
    async ({ page }, server) => {
      await page.goto(server.url);
      await page.getByRole('textbox', { name: box }).fill('Hello');
      await page.keyboard.press('Enter');
      await run(page, server);
    },
    { browser: { locale } },
  );
}

describe('the chat box', () => {
  it('streams the answer and tells where it ran and how fast', () =>
    chatting(async (page, server) => {
      const answer = await server.chat.next();
      assert.deepEqual(answer.body, {
        model: 'chat',
        messages: [{ role: 'user', content: 'Hello' }],
        stream: true,
      });
      answer.head('gpu');
      answer.say('Good ');
      await page.locator('.turn-text', { hasText: 'Good' }).waitFor();
      answer.say('morning');
      answer.finish(42.34);
      await page.getByText('on the GPU · 42.3 tokens/s').waitFor();
      assert.equal(await page.locator('.turn-text').textContent(), 'Good morning');
    }));

  it('tells the phase of a request that waits', () =>
    chatting(async (page, server) => {
      const answer = await server.chat.next();
      server.home.show({
        requests: [
          {
            id: answer.requestId,
            model: 'chat',
            path: '/v1/chat/completions',
            phase: 'loading',
            placement: null,
            attempts: 1,
            position: null,
            since: koreanTime(Date.now()),
          },
        ],
      });
      await page.locator('.turn-meta', { hasText: 'Waiting for the model to load' }).waitFor();
      answer.head('cpu', 2);
      answer.say('Here');
      answer.finish();
      await page.getByText('moved here after a failure').waitFor();
    }));

  it('goes on where the answer goes on, and carries the conversation', () =>
    chatting(async (page, server) => {
      const first = await server.chat.next();
      first.head('gpu');
      first.say('One');
      first.comment('llamastead attempt=2 placement=cpu reason=out_of_memory');
      first.say(' two');
      first.finish();
      await page.getByText('on the CPU ·').waitFor();
      await page.getByRole('textbox', { name: 'Message' }).fill('And?');
      await page.getByRole('button', { name: 'Send' }).click();
      const second = await server.chat.next();
      assert.deepEqual((second.body as { messages: unknown }).messages, [
        { role: 'user', content: 'Hello' },
        { role: 'assistant', content: 'One two' },
        { role: 'user', content: 'And?' },
      ]);
      second.breakOff();
    }));

  it('tells an error in its own words, and an answer that broke off', () =>
    chatting(async (page, server) => {
      (await server.chat.next()).fail(503, 'chat needs 6.2 GiB; 4.9 GiB is free.');
      await page.getByText('No answer. chat needs 6.2 GiB; 4.9 GiB is free.').waitFor();
      await page.getByRole('textbox', { name: 'Message' }).fill('Again');
      await page.keyboard.press('Enter');
      const answer = await server.chat.next();
      answer.head('gpu');
      answer.say('Half');
      answer.breakOff();
      await page.getByText('The answer ended early.').waitFor();
    }));

  it("tells an error in the reader's language, with the server's numbers beside it", () =>
    chatting(
      async (page, server) => {
        (await server.chat.next()).fail(503, 'chat needs 6.2 GiB; 4.9 GiB is free.');
        const alert = page.locator('.chat .card-alert');
        await alert.waitFor();
        assert.equal(
          await alert.textContent(),
          '답변을 받지 못했습니다. 지금은 이 모델을 실행할 메모리나 자리가 없습니다. (chat needs 6.2 GiB; 4.9 GiB is free.)',
        );
      },
      { locale: 'ko-KR', box: '메시지' },
    ));

  it('stops when asked, and lets the server know', () =>
    chatting(async (page, server) => {
      const answer = await server.chat.next();
      answer.head('gpu');
      answer.say('Long');
      await page.locator('.turn-text', { hasText: 'Long' }).waitFor();
      await page.getByRole('button', { name: 'Stop' }).click();
      await page.getByText('stopped', { exact: false }).waitFor();
      await answer.gone;
    }));
});
