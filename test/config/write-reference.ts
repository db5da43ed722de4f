/** Writes the generated parts of docs/configuration.md: `node test/config/write-reference.ts`. */
import { readFileSync, writeFileSync } from 'node:fs';
import { withParts } from './reference.ts';

const path = new URL('../../docs/configuration.md', import.meta.url);
writeFileSync(path, withParts(readFileSync(path, 'utf8')));
