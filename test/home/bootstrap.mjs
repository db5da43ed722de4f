// Plain JavaScript without dependencies, for whatever Node is on the machine (20 or newer): brings in what the
// TypeScript part of the bench needs, then hands over to it with the project's own Node.
import { spawn } from 'node:child_process';
import { existsSync, lstatSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';

const repository = resolve(import.meta.dirname ?? new URL('.', import.meta.url).pathname, '../..');
const ownNode = join(repository, 'node_modules/.bin/node');

/** Debian packages by the file that shows that one is there: a command's name, or an absolute path. */
const forEngine = { dockerd: 'docker.io', containerd: 'containerd', runc: 'runc', iptables: 'iptables' };
const forBench = {
  docker: 'docker.io',
  debootstrap: 'debootstrap',
  pip3: 'python3-pip',
  flock: 'util-linux',
};
const forTests = {
  chromium: 'chromium',
  '/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc': 'fonts-noto-cjk',
  curl: 'curl',
  ip: 'iproute2',
  mosquitto: 'mosquitto',
  mosquitto_sub: 'mosquitto-clients',
};

/**
 * Installs what is missing and runs a module of the project with its arguments.
 * @param {string} module path in the repository
 * @param {{tests: boolean}} wants
 */
export async function handOver(module, wants) {
  try {
    await Promise.all([installPackages(wants), installModules()]);
  } catch (error) {
    process.stderr.write(`✗ ${error.message}\n`);
    process.exit(1);
  }
  const modules = join(repository, 'node_modules');
  const child = spawn(ownNode, [join(repository, module), ...process.argv.slice(2)], {
    stdio: 'inherit',
    env: {
      ...process.env,
      PATH: `${join(modules, '.bin')}:${process.env.PATH}`,
      // Some three hundred processes of a test run load the same modules: each is compiled once.
      NODE_COMPILE_CACHE: join(modules, '.cache/compiled'),
    },
  });
  // The child hears the terminal's signals itself; this process must not end before it.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => process.exit(code ?? (signal === null ? 1 : 130)));
}

async function installPackages({ tests }) {
  const engineThere = process.env.DOCKER_HOST !== undefined || existsSync('/var/run/docker.sock');
  const wanted = { ...forBench, ...(engineThere ? {} : forEngine), ...(tests ? forTests : {}) };
  const missing = [
    ...new Set(Object.entries(wanted).flatMap(([file, name]) => (isThere(file) ? [] : [name]))),
  ];
  if (missing.length === 0) return;
  const advice = `apt-get install ${missing.join(' ')}`;
  if (process.getuid?.() !== 0) throw new Error(`missing packages; as root: ${advice}`);
  await step(`Debian packages ${missing.join(', ')}`, advice, async () => {
    const install = ['install', '-y', '--no-install-recommends', ...missing];
    const env = { DEBIAN_FRONTEND: 'noninteractive' };
    // The lists of a fresh machine are empty, those of an old one name packages that are gone.
    await run('apt-get', ['-o', 'Acquire::Check-Valid-Until=false', 'update'], env);
    await run('apt-get', install, env);
  });
}

async function installModules() {
  const folder = join(repository, 'node_modules');
  if (isCurrent(folder)) return;
  if (existsSync(folder) && lstatSync(folder).isSymbolicLink()) {
    process.stderr.write('! node_modules is a link to a folder of another lock file: left as it is\n');
    return;
  }
  await step('npm packages', 'Run `npm ci` in the checkout and read what it says.', () =>
    run('npm', ['ci'], {}),
  );
}

/** Whether npm's own note of what it installed agrees with the lock file. */
function isCurrent(folder) {
  const note = join(folder, '.package-lock.json');
  if (!existsSync(note) || !existsSync(ownNode)) return false;
  const installed = JSON.parse(readFileSync(note, 'utf8')).packages;
  const { '': _root, ...wanted } = JSON.parse(
    readFileSync(join(repository, 'package-lock.json'), 'utf8'),
  ).packages;
  // Optional packages for other systems are in the lock file alone.
  return Object.entries(wanted).every(([path, { version, optional }]) =>
    installed[path] === undefined ? optional === true : installed[path].version === version,
  );
}

function isThere(file) {
  if (file.startsWith('/')) return existsSync(file);
  return (process.env.PATH ?? '').split(':').some((folder) => existsSync(join(folder, file)));
}

async function step(name, advice, work) {
  const start = Date.now();
  const elapsed = () => `${((Date.now() - start) / 1000).toFixed(1)} s`;
  process.stderr.write(`… ${name}\n`);
  const beat = setInterval(() => process.stderr.write(`… ${name}: ${elapsed()}\n`), 10_000);
  try {
    await work();
    process.stderr.write(`✓ ${name}: installed (${elapsed()})\n`);
  } catch (error) {
    throw new Error(`${name}: ${error.message}\n  what to do: ${advice}`);
  } finally {
    clearInterval(beat);
  }
}

/** Runs a program; its failure carries its last lines. */
function run(command, args, env) {
  return new Promise((done, fail) => {
    const child = spawn(command, args, {
      cwd: repository,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const last = [];
    for (const stream of [child.stdout, child.stderr]) {
      createInterface(stream).on('line', (line) => {
        last.push(`    ${line}`);
        if (last.length > 15) last.shift();
      });
    }
    child.on('error', (error) => fail(new Error(`${command} could not be run: ${error.message}`)));
    child.on('close', (code) => {
      if (code === 0) done();
      else
        fail(
          new Error(`${command} ${args[0]} ended with exit code ${code}\n  last output:\n${last.join('\n')}`),
        );
    });
  });
}
