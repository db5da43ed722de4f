/** Debian's Chromium, and a page that notes everything that a good page must not do. */
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from 'playwright-core';

/** For each wait of a page. */
const PATIENCE_MS = 120_000;

export function launch(): Promise<Browser> {
  return chromium.launch({
    timeout: PATIENCE_MS,
    executablePath: '/usr/bin/chromium',
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}

export const DESKTOP = { width: 1280, height: 900 } as const;

export interface Watched {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Console messages, page errors, failed or foreign requests, oldest first. */
  readonly faults: readonly string[];
  /** Forgets the faults; from now on the page belongs to the origin of this URL. */
  watch(url: string): void;
}

/** A page in a context of its own. */
export async function watchedPage(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<Watched> {
  const context = await browser.newContext({ locale: 'en-GB', viewport: DESKTOP, ...options });
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  const faults: string[] = [];
  let origin = new URL(url).origin;
  page.on('console', (message) => faults.push(`console ${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => faults.push(`error: ${error.message}`));
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== origin) faults.push(`foreign request: ${request.url()}`);
  });
  page.on('requestfailed', (request) =>
    faults.push(`failed: ${request.url()} ${request.failure()?.errorText ?? ''}`),
  );
  page.on('response', (response) => {
    if (response.status() >= 400) faults.push(`status ${response.status()}: ${response.url()}`);
  });
  return {
    page,
    context,
    faults,
    watch(next) {
      faults.splice(0);
      origin = new URL(next).origin;
    },
  };
}
