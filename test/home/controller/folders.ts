import { randomBytes } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Bench } from '../bench.ts';
import { homeDir } from '../lib/paths.ts';
import { run } from '../lib/run.ts';
import { writeWhole } from './home-file.ts';

/** The folders that a home mounts, as a NAS has them. */
export interface Folders {
  models: string;
  state: string;
  config: string;
}

export const folders: Folders = {
  models: join(homeDir, 'models'),
  state: join(homeDir, 'data'),
  config: join(homeDir, 'config'),
};

export const configFile: string = join(folders.config, 'llamastead.yaml');

/**
 * Makes the folders. A home has its own copies of the models: what is done to them (a truncated file, one
 * added) must not reach other checkouts.
 */
export function makeFolders(bench: Bench): void {
  for (const folder of Object.values(folders)) mkdirSync(folder, { recursive: true });
  for (const file of [bench.tinyFile, bench.chatFile]) {
    const source = join(bench.modelsDir, file);
    const copy = join(folders.models, file);
    if (isCopy(source, copy)) continue;
    copyFileSync(source, `${copy}.part`);
    renameSync(`${copy}.part`, copy);
  }
}

/**
 * How to bind a folder so that what the host mounts in it later shows in the container: a NAS with systemd can, but
 * Docker refuses it where the file system that holds the folder shares nothing.
 */
export async function propagationOf(folder: string): Promise<'rslave' | 'rprivate'> {
  const told = await run('findmnt', ['--noheadings', '--output', 'PROPAGATION', '--target', folder]);
  return /shared|slave/.test(told) ? 'rslave' : 'rprivate';
}

function isCopy(source: string, copy: string): boolean {
  if (!existsSync(copy)) return false;
  const [from, to] = [statSync(source), statSync(copy)];
  return from.size === to.size && from.mtimeMs <= to.mtimeMs;
}

/** The broker's password of this home, made once. */
export function mqttPassword(): string {
  const file = join(homeDir, 'mqtt-password');
  if (!existsSync(file)) writeWhole(file, randomBytes(18).toString('base64url'));
  return readFileSync(file, 'utf8');
}

/** Writes llamastead.yaml; false where it was the same before. */
export function writeConfig(text: string): boolean {
  if (existsSync(configFile) && readFileSync(configFile, 'utf8') === text) return false;
  writeWhole(configFile, text);
  return true;
}
