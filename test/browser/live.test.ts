/** The page and its server: away, silent, restarted, locked, hidden; and a failover as it happens. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser, BrowserContextOptions } from 'playwright-core';
import { STORY_KEPT } from '../../app/web/logic/outage.ts';
import { launch, type Watched, waitUntil, watchedPage } from './support/browser.ts';
import { builtPage, type ScriptedServer, scriptedServer } from './support/scripted-server.ts';
import { aModel, anInstance, koreanTime, someFacts } from './support/views.ts';

let browser: Browser;
let built: Awaited<ReturnType<typeof builtPage>>;

before(async () => {
  [browser, built] = await Promise.all([launch(), builtPage()]);
});
after(async () => {
  await browser.close();
  await built.remove();
});

type Run = (watched: Watched, server: ScriptedServer) => Promise<void>;

async function live(
  run: Run,
  options: BrowserContextOptions = {},
  token: string | null = null,
): Promise<void> {
  const server = await scriptedServer(built.folder, {}, token);
  const watched = await watchedPage(browser, server.url, options);
  try {
    await run(watched, server);
    assert.deepEqual(server.errors, []);
  } finally {
    await watched.context.close();
    await server.close();
  }
}

const AWAY = {
  en: ['en-GB', 'Llamastead does not answer.', 'Unload: chat'],
  ko: ['ko-KR', 'Llamastead가 응답하지 않습니다.', '언로드: chat'],
} as const;

describe('a server that is away', () => {
  for (const [locale, words, button] of Object.values(AWAY)) {
    it(`is told within five seconds, ages the data, and comes back by itself (${locale})`, () =>
      live(
        async ({ page }, server) => {
          await page.goto(server.url);
          await page.locator('h1.tone-well').waitFor();
          await server.wire.cut();
          await page.getByText(words).waitFor({ timeout: 5000 });
          assert.equal(
            await page.getByRole('button', { name: button }).getAttribute('aria-disabled'),
            'true',
          );
          await page.getByRole('button', { name: button }).click({ force: true });
          assert.deepEqual(server.home.asked, []);
          server.home.show({ models: [aModel({ status: 'stopped', placement: 'none' })] });
          await server.wire.mend();
          await page.getByText(words).waitFor({ state: 'detached', timeout: 6000 });
          await page.locator('.state-asleep').waitFor();
        },
        { locale },
      ));
  }

  it('is not told when it comes back at once, nor on a reload', () =>
    live(async ({ page }, server) => {
      await page.addInitScript(() => {
        const seen = window as unknown as { flashed?: boolean };
        new MutationObserver(() => {
          if (document.querySelector('.note-bad') !== null) seen.flashed = true;
        }).observe(document, { childList: true, subtree: true });
      });
      await page.goto(server.url);
      await page.locator('h1.tone-well').waitFor();
      await server.wire.mend();
      server.home.show({ models: [aModel({ status: 'busy' })] });
      await page.locator('.state-answering').waitFor();
      await page.reload();
      await page.locator('.state-answering').waitFor();
      assert.equal(
        await page.evaluate(() => (window as unknown as { flashed?: boolean }).flashed),
        undefined,
      );
    }));

  it('is told within 40 s when the network is silent', () =>
    live(async ({ page }, server) => {
      await page.clock.install();
      await page.goto(server.url);
      await page.locator('h1.tone-well').waitFor();
      server.wire.silence();
      await page.clock.fastForward(34_000);
      assert.equal(await page.locator('.note-bad').count(), 0);
      await page.clock.runFor(5000);
      await page.locator('.note-bad').waitFor();
      await server.wire.mend();
      await page.clock.runFor(5000);
      await page.locator('.note-bad').waitFor({ state: 'detached' });
    }));
});

describe('events on the way', () => {
  it('come once each and none is missing, through a break', () =>
    live(async ({ page }, server) => {
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
    }));

  it('start anew when the server lost its numbers', () =>
    live(async ({ page }, server) => {
      server.home.remember(someFacts([{ type: 'gpu_lost' }, { type: 'gpu_back' }, { type: 'broker_lost' }]));
      await page.goto(`${server.url}#/events`);
      await page.getByText('GPU is gone').waitFor();
      server.home.remember(someFacts([{ type: 'config_reloaded' }]));
      await server.wire.mend();
      await page.getByText('configuration was read again').waitFor();
      assert.equal(await page.locator('.event').count(), 1);
    }));
});

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
  it('gives its connection up, and catches up within a second when it is shown', () =>
    live(async ({ page }, server) => {
      await page.goto(server.url);
      await page.locator('h1.tone-well').waitFor();
      const setHidden = (hidden: boolean) =>
        page.evaluate((now) => {
          Object.defineProperty(document, 'hidden', { value: now, configurable: true });
          document.dispatchEvent(new Event('visibilitychange'));
        }, hidden);
      const before = server.wire.open();
      await setHidden(true);
      await waitUntil(() => server.wire.open() < before);
      server.home.tell({ type: 'gpu_lost' });
      await setHidden(false);
      await page.getByText('The GPU is gone.').waitFor({ timeout: 1000 });
      assert.equal(await page.locator('.note-bad').count(), 0);
    }));
});

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
          assert.deepEqual(await states(page), ['done', 'now', 'now', 'next', 'next', 'next']);
          server.home.tell({ type: 'model_loaded', model: 'chat', placement: 'cpu', seconds: 6.3 });
          server.home.show({
            models: [aModel({ status: 'degraded', placement: 'cpu', outage })],
            instances: [anInstance({ placement: 'cpu', leases: 1 })],
            requests: [{ ...request, phase: 'running', placement: 'cpu' }],
          });
          await page.locator('.state-fallback').waitFor();
          assert.deepEqual(await states(page), ['done', 'done', 'done', 'now', 'next', 'next']);
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
          const told = await said();
          assert.equal(told.length, 2, told.join(' | '));
          assert.equal(told[0], expected.start);
          assert.match(told[1] ?? '', expected.end);
        },
        { locale },
      ));
  }

  it('is a plain event ten minutes later', () =>
    live(async ({ page }, server) => {
      const time = koreanTime(Date.now() - STORY_KEPT + 3000);
      const recovered = {
        type: 'recovered',
        model: 'chat',
        placement: 'gpu',
        to: 'gpu',
        seconds: 130,
      } as const;
      server.home.remember([{ v: 1, seq: 1, time, ...recovered }]);
      await page.goto(server.url);
      await page.locator('.outage-over').waitFor();
      await page.locator('.outage').waitFor({ state: 'detached', timeout: 5000 });
      await page.locator('.event', { hasText: 'back on the GPU' }).waitFor();
    }));
});

async function states(page: Watched['page']): Promise<string[]> {
  const classes = await page.locator('.step').evaluateAll((steps) => steps.map((step) => step.className));
  return classes.map((names) => names.replace('step step-', ''));
}

/** Everything that the live region says from now on. */
async function announcements(page: Watched['page']): Promise<() => Promise<string[]>> {
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
