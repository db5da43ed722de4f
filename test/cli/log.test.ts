import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeLog } from '../../app/log.ts';

function lines(write: (log: ReturnType<typeof makeLog>) => void): string[] {
  const out: string[] = [];
  write(makeLog('info', { write: (line) => out.push(line) }));
  return out;
}

test('a line is JSON with level, ISO time and message; lower levels are left out', () => {
  const [line, ...others] = lines(({ logger }) => {
    logger.debug('no');
    logger.info({ model: 'chat' }, 'loaded');
  });
  assert.equal(others.length, 0);
  const { level, time, model, msg } = JSON.parse(line ?? '');
  assert.deepEqual([level, model, msg], [30, 'chat', 'loaded']);
  assert.match(time, /^\d{4}-.*Z$/);
});

test('a secret is hidden by the name of its key, and by its value wherever it stands', () => {
  const secret = 'q"zxq/w\\zqx';
  const text = lines(({ logger, hide }) => {
    hide(secret);
    hide('abc');
    logger.info(
      { password: 'hunter2', mqtt: { password: 'hunter2', embedded: { token: 'hunter2' } } },
      'abc stays',
    );
    logger.info(
      { headers: { authorization: 'Bearer hunter2', cookie: 'hunter2' }, LLAMA_API_KEY: 'hunter2' },
      'x',
    );
    logger.error(
      { err: new Error(`cannot connect with ${secret}`) },
      `url mqtt://u:${encodeURIComponent(secret)}@host`,
    );
    logger.info({ list: [{ deep: { deeper: { any: secret } } }] }, secret);
  }).join('');
  assert.ok(!text.includes('hunter2'), text);
  assert.ok(!text.includes('zxq') && !text.includes('zqx'), text);
  assert.ok(text.includes('abc stays'));
});

test('no text, list or error makes a line long; what was left out is told', () => {
  const long = 'x'.repeat(1_000_000);
  const failed = new Error(long, { cause: new Error(long) });
  const written = lines(({ logger }) => {
    logger.info(
      { detail: long, list: Array.from({ length: 10_000 }, () => 'y'), deep: { er: { est: long } } },
      'one',
    );
    logger.error({ err: failed }, 'two');
    logger.error(failed);
    logger.info({ at: new Date(0), nothing: null, number: 1, list: [1, { a: 'b' }] }, 'three');
  });
  for (const line of written) assert.ok(line.length < 20_000, `${line.length} characters`);
  assert.match(written[0] ?? '', /x\.\.\. \(998000 more characters\)/);
  const { at, nothing, number, list } = JSON.parse(written[3] ?? '');
  assert.deepEqual([at, nothing, number, list], ['1970-01-01T00:00:00.000Z', null, 1, [1, { a: 'b' }]]);
});
