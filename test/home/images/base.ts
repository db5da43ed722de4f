import { copyFileSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { contentHash } from '../lib/content-hash.ts';
import { type Docker, findImage } from '../lib/docker.ts';
import { benchDir } from '../lib/paths.ts';
import { run } from '../lib/run.ts';
import type { Step } from '../lib/steps.ts';

const suite = 'forky';
const recipe = ['--variant=minbase', '--include=ca-certificates'];
/** debootstrap of Debian 12 has no script named forky; all testing suites share this one. */
const script = '/usr/share/debootstrap/scripts/sid';
const certificates = '/etc/ssl/certs/ca-certificates.crt';

/** The smallest Debian of the suite that has llama.cpp, imported as an image: nothing is pulled. */
export function baseImageStep(docker: Docker): Step<string> {
  const name = `llamastead-bench/base:${contentHash([suite, ...recipe])}`;
  return {
    name: 'base image',
    advice: "See whether the machine's package mirror is reachable: apt-get update, then again.",
    find: () => findImage(docker, name),
    make: async (log) => {
      const root = join(benchDir, 'base');
      rmSync(root, { recursive: true, force: true });
      mkdirSync(root, { recursive: true });
      await run('debootstrap', [...recipe, suite, root, await debianMirror(), script], { onLine: log });
      // The image trusts what the machine trusts: its mirror may have a certificate of its own.
      if (existsSync(certificates)) copyFileSync(certificates, join(root, certificates));
      await run('bash', ['-c', 'set -o pipefail; tar -C "$0" -c . | docker import - "$1"', root, name], {
        env: { DOCKER_HOST: docker.host },
        onLine: log,
      });
      rmSync(root, { recursive: true, force: true });
      return name;
    },
  };
}

/** The mirror that the machine's own apt uses for Debian's main archive. */
async function debianMirror(): Promise<string> {
  const format = '$(ORIGIN)|$(LABEL)|$(REPO_URI)';
  const lines = (await run('apt-get', ['indextargets', '--format', format, 'Created-By: Packages'])).split(
    '\n',
  );
  const mirror = lines.find((line) => line.startsWith('Debian|Debian|'))?.split('|')[2];
  if (mirror === undefined) throw new Error("apt's sources name no mirror of Debian");
  return mirror;
}
