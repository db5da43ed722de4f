/** The memory bar tells the truth, whatever the home's memory is. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { InstanceView, MemoryView, View } from '../../app/core/view.ts';
import { fc } from '../support/property.ts';
import { SPOKEN } from './support/languages.ts';
import { pageTests } from './support/page-tests.ts';
import { aModel, anInstance, aView, GIB } from './support/views.ts';

const tests = pageTests();

/** In each language, at each width. */
const STATES = 40;
const WIDTHS = [360, 1280] as const;

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

  for (const { locale, words } of SPOKEN) {
    it(`shows random states truly: parts sum to the total, none is under 4 px, figures are the server’s (${locale})`, () =>
      tests.useServer(
        async ({ page }, server) => {
          await page.addInitScript(takeStatesFromTest);
          await page.goto(server.url);
          for (const width of WIDTHS) {
            await page.setViewportSize({ width, height: 800 });
            const states = fc.sample(home, { numRuns: STATES, seed: width });
            const shown = states.map(({ memory, instances }, i) => {
              const models = instances.map((one) => aModel({ name: one.model }));
              // The name of the GPU marks the state that is to be looked at.
              const name = `state ${width} ${i}`;
              return {
                view: aView({ memory, instances, models, gpus: [{ ...SHARED, name }] }),
                mark: words.memory.shared(name),
              };
            });
            const bars = await page.evaluate(showAndMeasure, shown);
            assert.equal(bars.length, states.length);
            for (const [i, { memory }] of states.entries()) isTrue(bars[i] ?? assert.fail(), memory);
          }
        },
        { browser: { locale, reducedMotion: 'reduce', own: true } },
      ));
  }
});

const SHARED = { kind: 'vulkan', memory: 'shared', total: null, used: null, models: 0, headroom: 0 } as const;

interface ShownBar {
  readonly width: number;
  readonly parts: readonly { readonly kind: string; readonly bytes: number; readonly width: number }[];
}

function isTrue({ width, parts }: ShownBar, memory: MemoryView): void {
  assert.equal(
    parts.reduce((sum, part) => sum + part.bytes, 0),
    memory.total,
  );
  const widths = parts.reduce((sum, part) => sum + part.width, 0) + (parts.length - 1) * 2;
  assert.ok(Math.abs(widths - width) < 0.5, `${widths} of ${width}`);
  for (const part of parts) assert.ok(part.width >= 3.99, JSON.stringify(part));
  const services = memory.services ?? 0;
  if (services > 0 && services + memory.models <= memory.total)
    assert.equal(parts.find(({ kind }) => kind === 'services')?.bytes, services);
}

/** Runs in the page, before it: its event stream is written by `showAndMeasure`. */
function takeStatesFromTest(): void {
  const { fetch } = window;
  window.fetch = async (input, init) => {
    if (!String(input).startsWith('admin/events/stream')) return fetch(input, init);
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    Object.assign(window, { stream: writable.getWriter() });
    return new Response(readable, { headers: { 'content-type': 'text/event-stream' } });
  };
}

/** Runs in the page: gives it one state after the other, and measures each as soon as it stands. */
async function showAndMeasure(
  states: readonly { readonly view: View; readonly mark: string }[],
): Promise<ShownBar[]> {
  const { stream } = window as unknown as { stream: WritableStreamDefaultWriter<Uint8Array> };
  const stands = (mark: string): boolean =>
    [...document.querySelectorAll('.memory-note')].some((note) => note.textContent === mark);
  const shown: ShownBar[] = [];
  for (const { view, mark } of states) {
    const standing = new Promise<void>((resolve, reject) => {
      setTimeout(() => reject(new Error(`not shown within a minute: ${mark}`)), 60_000);
      const observer = new MutationObserver(() => {
        if (!stands(mark)) return;
        observer.disconnect();
        resolve();
      });
      observer.observe(document, { subtree: true, childList: true, characterData: true });
    });
    await stream.write(new TextEncoder().encode(`event: state\ndata: ${JSON.stringify(view)}\n\n`));
    await standing;
    const bar = document.querySelector('.bar');
    if (bar === null) throw new Error(`There is no bar: ${mark}`);
    shown.push({
      width: bar.getBoundingClientRect().width,
      parts: [...bar.children].map((part) => ({
        kind: /part-(\w+)/.exec(part.className.replace('bar-part', ''))?.[1] ?? '',
        bytes: Number((part as HTMLElement).dataset['bytes']),
        width: part.getBoundingClientRect().width,
      })),
    });
  }
  return shown;
}
