import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pageUrl } from '../../app/serve/page-url.ts';

const LISTENS = [
  { listen: { host: '0.0.0.0', url: 'auto' }, lan: '192.168.1.10', url: 'http://192.168.1.10:11535/' },
  { listen: { host: '::', url: 'auto' }, lan: '192.168.1.10', url: 'http://192.168.1.10:11535/' },
  { listen: { host: '0.0.0.0', url: 'auto' }, lan: null, url: null },
  { listen: { host: '10.0.0.7', url: 'auto' }, lan: '192.168.1.10', url: 'http://10.0.0.7:11535/' },
  { listen: { host: 'fd00::7', url: 'auto' }, lan: null, url: 'http://[fd00::7]:11535/' },
  { listen: { host: '127.0.0.1', url: 'auto' }, lan: '192.168.1.10', url: null },
  { listen: { host: '::1', url: 'auto' }, lan: '192.168.1.10', url: null },
  { listen: { host: '0.0.0.0', url: 'https://ai.example.com/' }, lan: null, url: 'https://ai.example.com/' },
] as const;

for (const { listen, lan, url } of LISTENS) {
  test(`listening on ${listen.host}, url ${listen.url}, machine at ${lan}: ${url}`, () => {
    assert.equal(pageUrl({ ...listen, port: 0 }, 11_535, lan), url);
  });
}
