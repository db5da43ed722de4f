import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { z } from 'zod';

const root = join(import.meta.dirname, '../..');
const dockerfile = readFileSync(join(root, 'app/Dockerfile'), 'utf8');
const Manifest = z.object({ devDependencies: z.object({ node: z.string() }) });

test('the published base image has the Node that the tests run on', () => {
  const manifest = Manifest.parse(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')));
  const base = /^ARG BASE=node:(\S+)-slim$/m.exec(dockerfile);
  assert.equal(base?.[1], manifest.devDependencies.node);
});

test('the image starts Node with the flags that its compiled code was made for', () => {
  const started = /^ENTRYPOINT \["node", "(.*)", "\S+main\.ts"\]$/m.exec(dockerfile);
  const command = /exec node (.*) \S+main\.ts "\$@"/.exec(dockerfile);
  assert.notEqual(started?.[1], undefined);
  assert.equal(command?.[1], started?.[1]?.split('", "').join(' '));
});
