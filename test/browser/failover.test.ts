/** A failover as it happens: in the card, step by step, and said aloud. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import type { Page } from 'playwright-core';
import { STORY_KEPT } from '../../app/web/logic/outage.ts';
import { until } from '../support/until.ts';
import { pageTests, type Run } from './support/page-tests.ts';
import type { TabOptions } from './support/tabs.ts';
import { aModel, anInstance, koreanTime } from './support/views.ts';

const tests = pageTests();

function live(run: Run, options: TabOptions = {}): Promise<void> {
  return tests.useServer(run, { browser: options });
}

describe('a failover', () => {
  const words = {
    'en-GB': {
      steps: [
        /^GPU stopped: it ran out of memory/,
        /^CPU is ready/,
        /^2 requests moved/,
        /^Answered on the CPU/,
        /^GPU is tried again/,
        /^Back on the GPU/,
      ],
      start: 'The GPU ran out of memory. 2 requests for chat continue on the CPU.',
      end: /^chat is back on the GPU after 2.min 10.s\.$/,
    },
    'ko-KR': {
      steps: [
        /^GPU 중단: 메모리 부족/,
        /^CPU 준비됨/,
        /^요청 2건을 옮김/,
        /^CPU에서 답변함/,
        /GPU 다시 시도/,
        /^GPU로 돌아옴/,
      ],
      start: 'GPU 메모리가 부족해 chat 모델의 요청 2건을 CPU에서 이어서 처리합니다.',
      end: /^chat 모델이 2분 10초 만에 GPU로 돌아왔습니다\.$/,
    },
    'zh-CN': {
      steps: [
        /^GPU 停止：内存不足/,
        /^CPU 已就绪/,
        /^已转移 2 个请求/,
        /^已在 CPU 上回答/,
        /再试 GPU/,
        /^已恢复到 GPU/,
      ],
      start: '显存不足，chat 的 2 个请求改由 CPU 继续处理。',
      end: /^chat 在 2.分 10.秒后恢复到 GPU。$/,
    },
  };
  for (const [locale, expected] of Object.entries(words)) {
    it(`stands in the card, step by step, is announced at its start and its end, and moves nothing else (${locale})`, () =>
      live(
        async ({ page }, server) => {
          await page.goto(server.url);
          await page.locator('h1.tone-well').waitFor();
          const said = await announcements(page);
          const now = Date.now();
          const outage = {
            placement: 'gpu',
            reason: 'out_of_memory',
            detail: null,
            since: koreanTime(now),
            retryAt: koreanTime(now + 60_000),
            probing: false,
          } as const;
          const request = {
            id: 'a',
            model: 'chat',
            path: '/v1/chat/completions',
            attempts: 2,
            position: null,
            since: koreanTime(now),
          } as const;
          server.home.show({
            models: [aModel({ status: 'starting', placement: 'none', outage })],
            instances: [
              anInstance({ placement: 'cpu', state: 'starting', measured: null, since: koreanTime(now) }),
            ],
            requests: [{ ...request, phase: 'loading', placement: null }],
          });
          server.home.tell({
            type: 'backend_crashed',
            model: 'chat',
            placement: 'gpu',
            reason: 'out_of_memory',
          });
          server.home.tell({
            type: 'failover',
            model: 'chat',
            placement: 'gpu',
            to: 'cpu',
            reason: 'out_of_memory',
            requestId: 'a',
            requestIds: ['a', 'b'],
            count: 2,
          });
          await page.locator('.step:nth-child(6)').waitFor();
          await become(page, ['done', 'now', 'now', 'next', 'next', 'next']);
          server.home.tell({ type: 'model_loaded', model: 'chat', placement: 'cpu', seconds: 6.3 });
          server.home.show({
            models: [aModel({ status: 'degraded', placement: 'cpu', outage })],
            instances: [anInstance({ placement: 'cpu', leases: 1 })],
            requests: [{ ...request, phase: 'running', placement: 'cpu' }],
          });
          await page.locator('.state-fallback').waitFor();
          await become(page, ['done', 'done', 'done', 'now', 'next', 'next']);
          const place = await page.locator('.controls').boundingBox();
          server.home.show({ requests: [] });
          await page.locator('.step:nth-child(4).step-done').waitFor();
          const lines = await page.locator('.step-text').allInnerTexts();
          for (const [i, pattern] of expected.steps.entries()) assert.match(lines[i] ?? '', pattern);
          assert.deepEqual(await page.locator('.controls').boundingBox(), place);
          server.home.tell({ type: 'recovered', model: 'chat', placement: 'gpu', to: 'gpu', seconds: 130 });
          server.home.show({ models: [aModel()], instances: [anInstance()] });
          await page.locator('.outage-over').waitFor();
          await page.locator('.state-ready').waitFor();
          await until(async () => (await said()).length > 1);
          const told = await said();
          assert.equal(told.length, 2, told.join(' | '));
          assert.equal(told[0], expected.start);
          assert.match(told[1] ?? '', expected.end);
        },
        { locale },
      ));
  }

  it('is a plain event ten minutes later', () =>
    live(
      async ({ page }, server) => {
        const time = koreanTime(Date.now() - STORY_KEPT + 60_000);
        const recovered = {
          type: 'recovered',
          model: 'chat',
          placement: 'gpu',
          to: 'gpu',
          seconds: 130,
        } as const;
        server.home.remember([{ v: 1, seq: 1, time, ...recovered }]);
        await page.clock.install();
        await page.goto(server.url);
        await page.locator('.outage-over').waitFor();
        await page.clock.fastForward(61_000);
        await page.locator('.outage').waitFor({ state: 'detached' });
        await page.locator('.event', { hasText: 'back on the GPU' }).waitFor();
      },
      { own: true },
    ));
});

/** State and events may come one after the other. */
async function become(page: Page, steps: readonly string[]): Promise<void> {
  await until(async () => isDeepStrictEqual(await states(page), steps));
}

async function states(page: Page): Promise<string[]> {
  const classes = await page.locator('.step').evaluateAll((steps) => steps.map((step) => step.className));
  return classes.map((names) => names.replace('step step-', ''));
}

/** Everything that the live region says from now on. */
async function announcements(page: Page): Promise<() => Promise<string[]>> {
  await page.evaluate(() => {
    const told: string[] = [];
    (window as unknown as { told: string[] }).told = told;
    const region = document.querySelector('[aria-live=polite]');
    if (region === null) throw new Error('There is no live region');
    new MutationObserver(() => {
      if (region.textContent !== '') told.push(region.textContent ?? '');
    }).observe(region, {
      childList: true,
      characterData: true,
      subtree: true,
    });
  });
  return () => page.evaluate(() => (window as unknown as { told: string[] }).told);
}
