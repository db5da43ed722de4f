/** Makes the pictures of the store's app page and of the README from the page itself: `node test/browser/pictures.ts`. */
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensurePage } from '../home/images/page.ts';
import { launch, watchedPage } from './support/browser.ts';
import { scriptedServer } from './support/scripted-server.ts';

const ROOT = join(import.meta.dirname, '../..');
const APP = join(ROOT, 'casaos/Apps/Llamastead');

const PICTURES = [
  { file: 'screenshot-1.png', viewport: { width: 1280, height: 720 } },
  { file: 'thumbnail.png', viewport: { width: 784, height: 442 } },
] as const;

const [browser, webRoot] = await Promise.all([launch(), ensurePage()]);
const server = await scriptedServer(webRoot);
for (const { file, viewport } of PICTURES) {
  const { page, context } = await watchedPage(browser, server.url, { viewport });
  await page.goto(server.url);
  await page.getByRole('textbox', { name: 'Message' }).waitFor();
  await page.screenshot({ path: join(APP, file) });
  await context.close();
}
await server.close();
await browser.close();
copyFileSync(join(ROOT, 'icon.png'), join(APP, 'icon.png'));
copyFileSync(join(ROOT, 'app/web/public/icon.svg'), join(APP, 'icon.svg'));
