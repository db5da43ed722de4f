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
