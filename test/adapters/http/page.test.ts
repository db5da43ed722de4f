import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { HttpServerOptions } from '../../../app/adapters/http/options.ts';
import { ask, startEdge } from '../../support/edge.ts';

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

/** A page as the build leaves it. */
async function builtPage(t: TestContext, change: Partial<HttpServerOptions> = {}) {
  const webRoot = await mkdtemp(join(tmpdir(), 'page-'));
  t.after(() => rm(webRoot, { recursive: true }));
  await mkdir(join(webRoot, 'assets'));
  await writeFile(
    join(webRoot, 'index.html'),
    '<!doctype html><html lang="en"><title>Llamastead</title></html>',
  );
  await writeFile(join(webRoot, 'icon.svg'), '<svg xmlns="http://www.w3.org/2000/svg"/>');
  await writeFile(join(webRoot, 'assets', 'index-Ab12.js'), 'console.log(1);');
  await writeFile(join(webRoot, '.secret'), 'hidden');
  return startEdge(t, { webRoot, ...change });
}

test('who accepts HTML gets the page, everyone else what Ollama says', async (t) => {
  const { port } = await builtPage(t);
  const root = (accept: string | undefined, method = 'GET') =>
    ask(port, { method, path: '/', headers: accept === undefined ? {} : { accept } });
  assert.match((await root(BROWSER)).text, /<title>Llamastead/);
  for (const accept of [undefined, '*/*', 'application/json', 'text/html;q=0, */*']) {
    const answer = await root(accept);
    assert.equal(answer.text, 'Ollama is running', accept);
    assert.match(String(answer.headers['content-type']), /^text\/plain/);
    assert.equal((await root(accept, 'HEAD')).status, 200);
  }
});

test('an Ollama client may call by any name', async (t) => {
  const { port } = await builtPage(t);
  const answer = await ask(port, { path: '/', headers: { host: 'llm.example.com' } });
  assert.deepEqual([answer.status, answer.text], [200, 'Ollama is running']);
});

test('the health check of CasaOS finds /index, with and without HTML in Accept', async (t) => {
  const { port } = await builtPage(t);
  for (const headers of [{ accept: 'text/html' }, {}]) {
    const answer = await ask(port, { path: '/index', headers });
    assert.equal(answer.status, 200);
    assert.match(String(answer.headers['content-type']), /^text\/html/);
  }
});

test('hashed files are kept for ever, the index is asked anew and answers 304', async (t) => {
  const { port } = await builtPage(t);
  const asset = await ask(port, { path: '/assets/index-Ab12.js' });
  assert.equal(asset.headers['cache-control'], 'public, max-age=31536000, immutable');
  assert.match(String(asset.headers['content-type']), /javascript/);
  assert.equal((await ask(port, { path: '/icon.svg' })).headers['cache-control'], 'no-cache');
  const index = await ask(port, { path: '/index' });
  assert.equal(index.headers['cache-control'], 'no-cache');
  const again = await ask(port, { path: '/index', headers: { 'if-none-match': index.headers.etag } });
  assert.deepEqual([again.status, again.text], [304, '']);
});

test('the page speaks the configured language, else the first one of the browser that it knows', async (t) => {
  let language: 'auto' | 'ko' = 'auto';
  const { port } = await builtPage(t, { language: () => language });
  const lang = async (accept: string) => {
    const answer = await ask(port, { path: '/index', headers: { 'accept-language': accept } });
    return /lang="(\w+)"/.exec(answer.text)?.[1];
  };
  assert.equal(await lang('ko-KR,ko;q=0.9,en-US;q=0.8'), 'ko');
  assert.equal(await lang('fr-FR,zh-CN;q=0.7,en;q=0.3'), 'zh');
  assert.equal(await lang('fr'), 'en');
  language = 'ko';
  assert.equal(await lang('zh-CN'), 'ko');
});

test('nothing outside the page folder is served', async (t) => {
  const { port } = await builtPage(t);
  const paths = [
    '/.secret',
    '/../page.test.ts',
    '/%2e%2e/etc/passwd',
    '/assets/..%2f..%2fetc/passwd',
    '/assets/',
  ];
  for (const path of paths) {
    const answer = await ask(port, { path });
    assert.ok(
      answer.status === 404 || answer.status === 403 || answer.status === 400,
      `${path} ${answer.status}`,
    );
    assert.ok(!answer.text.includes('hidden') && !answer.text.includes('root:'));
  }
});

test('without a built page a plain text says so, and the APIs work', async (t) => {
  const { port } = await startEdge(t);
  const answer = await ask(port, { path: '/', headers: { accept: BROWSER } });
  assert.equal(answer.status, 503);
  assert.match(answer.text, /its page is not built.*npm run web/);
  assert.equal((await ask(port, { path: '/admin/state' })).status, 200);
});
