/** The Connect view: what other programs are to be given, and to whom the broker's password is shown. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { SPOKEN } from './support/languages.ts';
import { pageTests, type Run } from './support/page-tests.ts';
import { ACCESS, type Locks } from './support/scripted-server.ts';

const tests = pageTests();

const PASSWORD = ACCESS.brokerPassword() ?? '';
const BROKER = ACCESS.broker() ?? assert.fail();

function connect(run: Run, locks: Locks = {}, locale = 'en-GB'): Promise<void> {
  return tests.useServer(
    async (watched, server) => {
      await watched.page.goto(`${server.url}#/connect`);
      await run(watched, server);
    },
    { ...locks, browser: { locale } },
  );
}

const field = (page: Page, label: string) => page.getByRole('textbox', { name: label, exact: true });

for (const { locale, words, connect: said } of SPOKEN) {
  describe(`the broker on the Connect view (${locale})`, () => {
    it('has its address, port and user, and says where the password stands while the page is open to all', () =>
      connect(
        async ({ page }) => {
          assert.equal(await field(page, said.brokerHost).inputValue(), '192.168.1.10');
          assert.equal(await field(page, said.brokerPort).inputValue(), '11536');
          assert.equal(await field(page, said.brokerUser).inputValue(), 'llamastead');
          await page.getByText(said.passwordIn('/data/state.json')).waitFor();
          assert.equal(await page.getByRole('button', { name: said.showPassword }).count(), 0);
        },
        {},
        locale,
      ));

    it('shows the password to who came with the admin token, and only on wish', () =>
      connect(
        async ({ page }) => {
          await page.getByLabel(words.login.token).fill('secret token');
          await page.keyboard.press('Enter');
          const show = page.getByRole('button', { name: said.showPassword });
          await show.waitFor();
          assert.ok(!(await page.content()).includes(PASSWORD));
          await show.click();
          await field(page, said.brokerPassword).waitFor();
          assert.equal(await field(page, said.brokerPassword).inputValue(), PASSWORD);
          const hide = page.getByRole('button', { name: said.hidePassword });
          assert.ok(await hide.evaluate((button) => button === document.activeElement));
          await hide.click();
          await field(page, said.brokerPassword).waitFor({ state: 'detached' });
        },
        { token: 'secret token' },
        locale,
      ));
  });
}

describe('the Connect view', () => {
  it('names the address that others reach, where the browser is on the machine itself', () =>
    connect(async ({ page }) => {
      await field(page, 'Broker').waitFor();
      const shown = await page
        .locator('input')
        .evaluateAll((all) => all.map((one) => (one as HTMLInputElement).value));
      assert.ok(shown.includes('http://192.168.1.10:11535/v1'), shown.join(' '));
      assert.doesNotMatch(shown.join(' '), /127\.0\.0\.1/);
    }));

  it('says where to find a key, where the models need one', () =>
    connect(
      async ({ page }) => {
        await page.getByText('one of those under security.apiKeys').first().waitFor();
        assert.match(await field(page, 'Terminal').inputValue(), /-H 'authorization: Bearer KEY'/);
      },
      { apiKeys: ['key'] },
    ));

  it('tells of an external broker what it is, and no password', () =>
    connect(
      async ({ page }) => {
        await page.getByText('your own broker').waitFor();
        assert.equal(await field(page, 'Broker').inputValue(), 'mqtt.lan');
        assert.equal(await field(page, 'User name').count(), 0);
        assert.equal(await page.getByText('Password').count(), 0);
      },
      {
        access: {
          ...ACCESS,
          broker: () => ({ ...BROKER, kind: 'external', host: 'mqtt.lan', port: 1883, passwordIn: null }),
          brokerPassword: () => null,
        },
      },
    ));

  it('tells a broker that is down, one for this machine alone, and none', async () => {
    const down = { ...BROKER, up: false, host: '127.0.0.1' };
    await connect(
      async ({ page }) => {
        await page.getByText('does not answer now').waitFor();
        await page.getByText('this machine alone').waitFor();
      },
      { access: { ...ACCESS, broker: () => down } },
    );
    await connect(async ({ page }) => page.getByText('MQTT is switched off').waitFor(), {
      access: { ...ACCESS, broker: () => null, brokerPassword: () => null },
    });
  });
});
