import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { homeDir } from '../lib/paths.ts';

const HomeFile = z.object({
  /** Of the model API and of the page. */
  url: z.string(),
  page: z.string(),
  /** As for DOCKER_HOST. */
  docker: z.string(),
  /** The broker with user and password, from the host. */
  mqtt: z.string(),
  /** The models folder on the host. */
  models: z.string(),
  /** Name of the controller's container. */
  container: z.string(),
  adminToken: z.string().optional(),
  /** `plan`: what it was made from, for the next call of the bench. */
  homeAssistant: z.object({ url: z.string(), token: z.string(), plan: z.string().optional() }).optional(),
});

/** What programs read to find the home that runs. */
export type HomeFile = z.output<typeof HomeFile>;

export const homeFile: string = join(homeDir, 'home.json');

/** The home of an earlier call; undefined where there is none. */
export function readHomeFile(): HomeFile | undefined {
  if (!existsSync(homeFile)) return undefined;
  const parsed = HomeFile.safeParse(JSON.parse(readFileSync(homeFile, 'utf8')));
  return parsed.success ? parsed.data : undefined;
}

export function writeHomeFile(home: HomeFile): void {
  writeWhole(homeFile, `${JSON.stringify(home, null, 2)}\n`);
}

/** Nobody reads a file half written: it is renamed into its place. */
export function writeWhole(file: string, content: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(`${file}.part`, content, { mode: 0o600 });
  renameSync(`${file}.part`, file);
}
