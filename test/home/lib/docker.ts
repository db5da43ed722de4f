import { type RunOptions, run } from './run.ts';

/** The docker command line on one engine. */
export interface Docker {
  /** As for DOCKER_HOST. */
  host: string;
  run: (args: readonly string[], options?: RunOptions) => Promise<string>;
}

/** @param host as for DOCKER_HOST, such as unix:///var/run/docker.sock */
export function dockerOn(host: string): Docker {
  // The classic builder is in every engine from 20.10 on; the newer one is a plug-in that may be missing.
  const env = { DOCKER_HOST: host, DOCKER_BUILDKIT: '0' };
  return {
    host,
    run: (args, options = {}) => run('docker', args, { ...options, env: { ...env, ...options.env } }),
  };
}

/** The image's name where the engine has it, else undefined. */
export async function findImage(docker: Docker, name: string): Promise<string | undefined> {
  const ids = await docker.run(['images', '--quiet', name]);
  return ids === '' ? undefined : name;
}

/** Ends and removes the containers that carry a label. */
export async function removeLabelled(docker: Docker, label: string): Promise<void> {
  const ids = await docker.run(['ps', '--all', '--quiet', '--filter', `label=${label}`]);
  if (ids !== '') await docker.run(['rm', '--force', '--volumes', ...ids.split('\n')]);
}

export interface Build {
  name: string;
  dockerfile: string;
  context: string;
  args: Record<string, string>;
}

/** Builds an image on the host's network: the machine's way to its registries is the build's too. */
export async function buildImage(docker: Docker, build: Build, log: (line: string) => void): Promise<string> {
  const args = Object.entries(build.args).flatMap(([key, value]) => ['--build-arg', `${key}=${value}`]);
  await docker.run(
    [
      'build',
      '--network=host',
      '--force-rm',
      ...args,
      '--tag',
      build.name,
      '--file',
      build.dockerfile,
      build.context,
    ],
    { onLine: log },
  );
  return build.name;
}
