/** The memory bar tells the truth, whatever the home's memory is. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import type { Browser } from 'playwright-core';
import type { InstanceView, MemoryView } from '../../app/core/view.ts';
import { launch, watchedPage } from './support/browser.ts';
import { SPOKEN } from './support/languages.ts';
import { builtPage, type ScriptedServer, scriptedServer } from './support/scripted-server.ts';
import { aModel, anInstance, GIB } from './support/views.ts';

let browser: Browser;
let built: Awaited<ReturnType<typeof builtPage>>;
let server: ScriptedServer;

before(async () => {
  [browser, built] = await Promise.all([launch(), builtPage()]);
  server = await scriptedServer(built.folder);
});
after(async () => {
  await browser.close();
  await server.close();
  await built.remove();
});

const STATES = 200;
const WIDTHS = [360, 1280] as const;

describe('the memory bar', () => {
  const cases = SPOKEN.flatMap((spoken) => WIDTHS.map((width) => ({ ...spoken, width })));
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

  for (const [place, { locale, width, words }] of cases.entries()) {
    it(`shows random states truly: parts sum to the total, none is under 4 px, figures are the server’s (${locale}, ${width})`, async () => {
      const { page, context } = await watchedPage(browser, server.url, {
        locale,
        viewport: { width, height: 800 },
        reducedMotion: 'reduce',
      });
      await page.goto(server.url);
      const states = fc.sample(home, { numRuns: Math.ceil(STATES / cases.length), seed: place });
      for (const [i, { memory, instances }] of states.entries()) {
        // A new status is told at once; the version marks the state that is to be looked at.
        const models = instances.map((one) => aModel({ name: one.model }));
        server.home.show({ memory, instances, models, gpus: [{ ...SHARED, name: `state ${i}` }] });
        await page.getByText(words.memory.shared(`state ${i}`), { exact: true }).waitFor();
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
    });
  }
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
