/** How the page looks to axe, to a small screen, to large text, to a keyboard; and that its bars are true. */
import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import type { Browser, Page } from 'playwright-core';
import type { InstanceView, MemoryView } from '../../app/core/view.ts';
import { launch, watchedPage } from './support/browser.ts';
import { builtPage, type ScriptedServer, scriptedServer } from './support/scripted-server.ts';
import { aModel, anInstance, GIB, koreanTime, someFacts } from './support/views.ts';

let browser: Browser;
let built: Awaited<ReturnType<typeof builtPage>>;
let server: ScriptedServer;
let axe: string;

/** A home with everything at once: an outage, a failure, a start, sleep, problems, requests, events. */
function busyHome(): Parameters<typeof scriptedServer>[1] {
  const now = Date.now();
  return {
    models: [
      aModel({
        status: 'degraded',
        placement: 'cpu',
        outage: {
          placement: 'gpu',
          reason: 'out_of_memory',
          detail: null,
          since: koreanTime(now - 20_000),
          retryAt: koreanTime(now + 600_000),
          probing: false,
        },
      }),
      aModel({ name: 'embed', task: 'embedding', status: 'starting', placement: 'none' }),
      aModel({
        name: 'a-model-with-a-very-long-name-q4-k-m',
        status: 'failed',
        placement: 'none',
        lastError: 'exit 1',
      }),
      aModel({ name: 'tiny', status: 'stopped', placement: 'none', mode: 'off' }),
    ],
    instances: [
      anInstance({ placement: 'cpu', leases: 1 }),
      anInstance({ model: 'embed', state: 'starting', measured: null, since: koreanTime(now), memory: GIB }),
    ],
    requests: [
      {
        id: 'a',
        model: 'chat',
        path: '/v1/chat/completions',
        phase: 'running',
        placement: 'cpu',
        attempts: 2,
        position: null,
        since: koreanTime(now),
      },
    ],
    problems: [
      {
        code: 'image_missing',
        text: 'The image is not there.',
        fix: 'Pull it.',
        params: { image: 'ghcr.io/x/y:server-cuda' },
      },
    ],
  };
}

before(async () => {
  [browser, built, axe] = await Promise.all([
    launch(),
    builtPage(),
    readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8'),
  ]);
  server = await scriptedServer(built.folder, busyHome());
  server.home.remember(
    someFacts([
      {
        type: 'failover',
        model: 'chat',
        placement: 'gpu',
        to: 'cpu',
        reason: 'out_of_memory',
        requestIds: ['a'],
      },
      {
        type: 'load_failed',
        model: 'embed',
        placement: 'gpu',
        reason: 'device_missing',
        detail: 'no device',
      },
      { type: 'model_loaded', model: 'chat', placement: 'cpu', seconds: 6.3, bytes: GIB },
    ]),
  );
});
after(async () => {
  await browser.close();
  await server.close();
  await built.remove();
});

const VIEWS = ['home', 'events', 'connect'] as const;

async function open(page: Page, view: (typeof VIEWS)[number]): Promise<void> {
  await page.goto(`${server.url}#/${view}`);
  await page.locator('h1').waitFor();
  if (view !== 'connect') await page.locator('.event').first().waitFor();
}

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string }[];
}

async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  const found = await page.evaluate(async () => {
    const run = (window as unknown as { axe: { run(): Promise<{ violations: Violation[] }> } }).axe;
    return (await run.run()).violations;
  });
  return found.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(' | ')}`);
}

describe('the page', () => {
  it('weighs at most 40 kB of script and 8 kB of style for any reader', async () => {
    const folder = join(built.folder, 'assets');
    let style = 0;
    let script = 0;
    let language = 0;
    for (const name of await readdir(folder)) {
      const size = gzipSync(await readFile(join(folder, name)), { level: 9 }).length;
      if (name.endsWith('.css')) style += size;
      else if (/^(ko|zh)-/.test(name)) language = Math.max(language, size);
      else script += size;
    }
    assert.ok(style <= 8_000, `style ${style}`);
    assert.ok(script + language <= 40_000, `script ${script} and the largest language ${language}`);
  });

  for (const locale of ['en-GB', 'ko-KR', 'zh-CN']) {
    it(`has no violation that axe finds, in any view, theme or width (${locale})`, async () => {
      for (const colorScheme of ['light', 'dark'] as const) {
        for (const width of [360, 1280]) {
          const { page, context } = await watchedPage(browser, server.url, {
            locale,
            colorScheme,
            viewport: { width, height: 800 },
            bypassCSP: true,
          });
          for (const view of VIEWS) {
            await open(page, view);
            assert.deepEqual(await violations(page), [], `${view} ${colorScheme} ${width}`);
          }
          await context.close();
        }
      }
    });
  }

  it('has no violation in forced colours', async () => {
    const { page, context } = await watchedPage(browser, server.url, {
      forcedColors: 'active',
      bypassCSP: true,
    });
    for (const view of VIEWS) {
      await open(page, view);
      assert.deepEqual(await violations(page), [], view);
    }
    await context.close();
  });

  for (const locale of ['en-GB', 'ko-KR', 'zh-CN']) {
    it(`scrolls in one direction only, at 320 px and with text at 200 % (${locale})`, async () => {
      const { page, context } = await watchedPage(browser, server.url, {
        locale,
        viewport: { width: 320, height: 700 },
      });
      for (const view of VIEWS) {
        await open(page, view);
        assert.equal(await sideways(page), 0, `${view} at 320 px`);
        await page.setViewportSize({ width: 640, height: 700 });
        await page.evaluate(() => document.documentElement.style.setProperty('font-size', '200%'));
        assert.equal(await sideways(page), 0, `${view} at 200 %`);
        await page.setViewportSize({ width: 320, height: 700 });
        await page.evaluate(() => document.documentElement.style.removeProperty('font-size'));
      }
      await context.close();
    });
  }

  it('has targets of at least 44 px', async () => {
    for (const width of [360, 1280]) {
      const { page, context } = await watchedPage(browser, server.url, { viewport: { width, height: 800 } });
      for (const view of VIEWS) {
        await open(page, view);
        assert.deepEqual(await smallTargets(page), [], `${view} ${width}`);
      }
      await context.close();
    }
  });
});

async function sideways(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
}

/** Of everything that can be pressed, what is lower or narrower than 44 px; a label counts for its input. */
async function smallTargets(page: Page): Promise<string[]> {
  return page.locator('a:not(.skip), button, select, input, textarea, summary').evaluateAll((all) =>
    all
      .filter((one) => one.checkVisibility())
      .map((one) => ({ one, box: (one.closest('label') ?? one).getBoundingClientRect() }))
      .filter(({ box }) => Math.round(box.height) < 44 || Math.round(box.width) < 44)
      .map(({ one, box }) => `${one.outerHTML.slice(0, 80)} ${box.width}x${box.height}`),
  );
}

describe('by keyboard alone', () => {
  it('everything is reached, the focus is seen, and no update takes it away', async () => {
    const { page, context } = await watchedPage(browser, server.url);
    await open(page, 'home');
    const reached = new Set<string>();
    for (let i = 0; i < 60; i++) {
      await page.keyboard.press('Tab');
      const focus = await page.evaluate(() => {
        const one = document.activeElement;
        if (one === null || one === document.body) return null;
        const shown = one.matches('input[type=radio]') ? (one.nextElementSibling ?? one) : one;
        const { outlineStyle, outlineWidth } = getComputedStyle(shown);
        return {
          name: one.outerHTML.slice(0, 90),
          seen: outlineStyle !== 'none' && Number.parseFloat(outlineWidth) >= 2,
        };
      });
      if (focus === null) break;
      assert.ok(focus.seen, `The focus is not seen on ${focus.name}`);
      reached.add(focus.name);
    }
    assert.ok(reached.size > 20, `${reached.size} reached`);
    const button = page.getByRole('button', { name: 'Unload: chat' });
    await button.focus();
    server.home.show({ leases: 1 });
    server.home.tell({ type: 'gpu_back' });
    await page.getByText('The GPU is there again.').waitFor();
    assert.ok(await button.evaluate((one) => one === document.activeElement));
    await context.close();
  });

  it('a question is asked and answered', async () => {
    const { page, context } = await watchedPage(browser, server.url);
    await open(page, 'home');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    for (let i = 0; i < 60; i++) {
      await page.keyboard.press('Tab');
      if (await page.evaluate(() => document.activeElement?.tagName === 'TEXTAREA')) break;
    }
    await page.keyboard.type('Hello');
    await page.keyboard.press('Enter');
    const answer = await server.chat.next();
    answer.head('cpu');
    answer.say('Good morning');
    answer.finish(12);
    await page.getByText('Good morning').waitFor();
    assert.ok(await page.evaluate(() => document.activeElement?.tagName === 'TEXTAREA'));
    await context.close();
  });
});

describe('the memory bar', () => {
  const home = fc
    .record({
      total: fc.integer({ min: GIB, max: 128 * GIB }),
      used: fc.double({ min: 0, max: 1, noNaN: true }),
      services: fc.option(fc.double({ min: 0, max: 0.6, noNaN: true })),
      reserve: fc.double({ min: 0, max: 0.5, noNaN: true }),
      budget: fc.double({ min: 0, max: 1, noNaN: true }),
      models: fc.array(fc.double({ min: 0.0001, max: 0.3, noNaN: true }), { maxLength: 5 }),
    })
    .map(({ total, used, services, reserve, budget, models }) => {
      const of = (share: number): number => Math.round(total * share);
      const instances = models.map(
        (share, i): InstanceView => anInstance({ model: `m${i}`, memory: Math.max(1, of(share)) }),
      );
      const memory: MemoryView = {
        total,
        available: total - of(used),
        services: services === null ? null : of(services),
        reserve: of(reserve),
        budget: of(budget),
        models: instances.reduce((sum, one) => sum + one.memory, 0),
      };
      return { memory, instances };
    });

  it('shows 200 random states truly: parts sum to the total, none is under 4 px, figures are the server’s', async () => {
    for (const width of [360, 1280]) {
      const { page, context } = await watchedPage(browser, server.url, {
        viewport: { width, height: 800 },
        reducedMotion: 'reduce',
      });
      await open(page, 'home');
      for (const [i, { memory, instances }] of fc.sample(home, { numRuns: 100, seed: width }).entries()) {
        // A new status is told at once; the version marks the state that is to be looked at.
        const models = instances.map((one) => aModel({ name: one.model }));
        server.home.show({ memory, instances, models, gpus: [{ ...SHARED, name: `state ${i}` }] });
        await page.getByText(`state ${i} shares`).waitFor();
        const parts = await page.locator('.bar').first().evaluate(measured);
        assert.equal(
          parts.parts.reduce((sum, part) => sum + part.bytes, 0),
          memory.total,
        );
        const widths = parts.parts.reduce((sum, part) => sum + part.width, 0) + (parts.parts.length - 1) * 2;
        assert.ok(Math.abs(widths - parts.width) < 0.5, `${widths} of ${parts.width}`);
        for (const part of parts.parts) assert.ok(part.width >= 3.99, JSON.stringify(part));
        const shown = new Map(parts.parts.map((part) => [part.kind, part.bytes]));
        const services = memory.services ?? 0;
        if (services > 0 && services + memory.models <= memory.total)
          assert.equal(shown.get('services'), services);
      }
      await context.close();
    }
  });
});

const SHARED = { kind: 'vulkan', memory: 'shared', total: null, models: 0, headroom: 0 } as const;

/** Runs in the page. */
function measured(bar: Element) {
  return {
    width: bar.getBoundingClientRect().width,
    parts: [...bar.children].map((part) => ({
      kind: /part-(\w+)/.exec(part.className.replace('bar-part', ''))?.[1] ?? '',
      bytes: Number((part as HTMLElement).dataset['bytes']),
      width: part.getBoundingClientRect().width,
    })),
  };
}
