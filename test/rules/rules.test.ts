/** The rules of ARCHITECTURE.md that a machine can check. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { filesIn, type Import, importsOf, packageOf } from './imports.ts';

const sources = filesIn('app', /\.tsx?$/);
const imports = sources.flatMap(importsOf);
const server = imports.filter(({ from }) => !from.startsWith('app/web/'));

function shown(list: readonly Import[]): string[] {
  return list.map(({ from, target }) => `${from} imports ${target}`);
}

/** `app/adapters/docker/api.ts` -> `docker`; a file right below `adapters` is an adapter of its own. */
function adapterOf(path: string): string | undefined {
  return /^app\/adapters\/([^/]+)/.exec(path)?.[1];
}

/** The ports: one file and the folder beside it. */
function isPort(path: string): boolean {
  return /^app\/ports(\.ts$|\/)/.test(path);
}

test('the rules see the project', () => {
  assert.ok(sources.length > 50 && imports.length > 100);
  assert.ok(imports.some(({ target, typeOnly }) => target === 'app/core/types.ts' && typeOnly));
  assert.ok(imports.some(({ target }) => target === 'zod'));
});

test('core imports only core', () => {
  const wrong = imports.filter(
    ({ from, target }) => from.startsWith('app/core/') && !target.startsWith('app/core/'),
  );
  assert.deepEqual(shown(wrong), []);
});

test('an adapter imports of ours only core, ports and errors, and no other adapter', () => {
  const wrong = imports.filter(({ from, target }) => {
    const own = adapterOf(from);
    if (own === undefined || !target.startsWith('app/')) return false;
    if (adapterOf(target) === own || target.startsWith('app/core/')) return false;
    return !isPort(target) && target !== 'app/errors.ts';
  });
  assert.deepEqual(shown(wrong), []);
});

test('ports and errors know nothing of adapters or configuration', () => {
  const wrong = imports.filter(
    ({ from, target }) =>
      (isPort(from) || from === 'app/errors.ts') &&
      !target.startsWith('app/core/') &&
      !isPort(target) &&
      target.startsWith('app/'),
  );
  assert.deepEqual(shown(wrong), []);
  assert.deepEqual(shown(imports.filter(({ from, typeOnly }) => isPort(from) && !typeOnly)), []);
});

test('nothing imports main', () => {
  assert.deepEqual(shown(imports.filter(({ target }) => target === 'app/main.ts')), []);
});

test('only the composition root reaches into adapters from outside', () => {
  const wrong = imports.filter(
    ({ from, target }) => adapterOf(target) !== undefined && adapterOf(from) === undefined && !isRoot(from),
  );
  assert.deepEqual(shown(wrong), []);
});

/** The composition root: main.ts and the files it is split into. */
function isRoot(path: string): boolean {
  return /^app\/(main|serve)(\.ts$|\/)/.test(path);
}

/** Where a package may be used; types of pino's logger may go anywhere but core. */
const HOMES: Readonly<Record<string, RegExp>> = {
  dockerode: /^app\/adapters\/docker\//,
  express: /^app\/adapters\/http\//,
  'prom-client': /^app\/adapters\/http\//,
  mqtt: /^app\/adapters\/mqtt\//,
  'mqtt-packet': /^app\/adapters\/mqtt\//,
  aedes: /^app\/adapters\/mqtt\//,
  'node-cron': /^app\/adapters\/cron/,
  yaml: /^app\/config\//,
  pino: /^app\/log\.ts$/,
  zod: /^app\/(adapters|config|cli|inspect)\//,
};

test('a package is used only in its own folder', () => {
  const packages = server.filter(({ target, isOurs }) => !isOurs && !target.startsWith('node:'));
  const wrong = packages.filter(({ from, target, typeOnly }) => {
    const name = packageOf(target);
    return !(HOMES[name]?.test(from) ?? false) && !(name === 'pino' && typeOnly);
  });
  assert.deepEqual(shown(wrong), []);
});

test('the page shares only types and pure parts with the server', () => {
  const wrong = imports.filter(
    ({ from, target }) =>
      from.startsWith('app/web/') && target.startsWith('app/') && !/^app\/(web|core)\//.test(target),
  );
  assert.deepEqual(shown(wrong), []);
});

test('only main reads environment, arguments and signals', () => {
  const wrong = sources
    .filter(({ path }) => path !== 'app/main.ts' && !path.startsWith('app/web/'))
    .filter(({ text }) => /\bprocess\.(env|argv|on|once|exit|stdin)\b/.test(text))
    .map(({ path }) => path);
  assert.deepEqual(wrong, []);
});

test('files stay short, but for the tables of phrases', () => {
  const long = filesIn('app', /\.ts$/)
    .filter(({ path }) => !path.startsWith('app/web/text/'))
    .map(({ path, text }) => ({ path, lines: text.split('\n').length - 1 }))
    .filter(({ lines }) => lines >= 220);
  assert.deepEqual(long, []);
});

test('there are no default exports, enums, any, or suppressed errors', () => {
  const forbidden =
    /^export default\b|\bexport\s*\{[^}]*\bas default\b|^\s*(export\s+)?(const\s+)?enum\s|@ts-(ignore|nocheck|expect-error)|(:|<|\bas)\s*any\b/m;
  const wrong = [...sources, ...filesIn('test', /\.ts$/)]
    .filter(({ path }) => path !== 'app/web/vite.config.ts' && path !== 'test/rules/rules.test.ts')
    .filter(({ text }) => forbidden.test(withoutComments(text)));
  assert.deepEqual(
    wrong.map(({ path }) => path),
    [],
  );
});

test('no test draws by chance: what draws goes by the one seed, or is told one', () => {
  const isDrawn = /\bfrom 'fast-check'|\bMath\.random\(/;
  const wrong = filesIn('test', /\.ts$/)
    .filter(({ path }) => !['test/support/property.ts', 'test/rules/rules.test.ts'].includes(path))
    .filter(({ text }) => isDrawn.test(text));
  assert.deepEqual(
    wrong.map(({ path }) => path),
    [],
  );
});

/** Comment lines may speak of anything, but for the marks that suppress errors. */
function withoutComments(text: string): string {
  return text.replaceAll(/^\s*(\/\/(?!.*@ts-)|\*(?!.*@ts-)|\/\*\*?(?!.*@ts-)).*$/gm, '');
}

test('the project stands alone: nothing refers to the place where it was made', () => {
  const outside = [`..${'/'}shared`, `/${'work'}/`];
  const wrong = filesIn('.', /\.(ts|tsx|mjs|js|json|md|ya?ml|sh|css|html|txt)$|Dockerfile|^\.ci\//)
    .filter(({ path }) => path !== 'package-lock.json')
    .filter(({ text }) => outside.some((word) => text.includes(word)));
  assert.deepEqual(
    wrong.map(({ path }) => path),
    [],
  );
});
