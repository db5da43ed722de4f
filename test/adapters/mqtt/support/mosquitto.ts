/** Debian's mosquitto and its clients (packages mosquitto and mosquitto-clients) as real parts. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { freePort } from '../../../support/ports.ts';

export interface Account {
  readonly username: string;
  readonly password: string;
}

export interface Mosquitto {
  readonly port: number;
  readonly url: string;
  close(): Promise<void>;
}

/** A broker that asks for a password, on a free port of this machine; resolves when it answers. */
export async function mosquitto(account: Account): Promise<Mosquitto> {
  const folder = mkdtempSync(join(tmpdir(), 'llamastead-mosquitto-'));
  const passwords = join(folder, 'passwords');
  writeFileSync(passwords, `${account.username}:${account.password}\n`, { mode: 0o600 });
  execFileSync('mosquitto_passwd', ['-U', passwords]);
  const port = await freePort();
  const lines = [
    `listener ${port} 127.0.0.1`,
    'allow_anonymous false',
    `password_file ${passwords}`,
    'user root',
  ];
  const file = join(folder, 'mosquitto.conf');
  writeFileSync(file, lines.join('\n'));
  const child = spawn('mosquitto', ['-c', file], { stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = once(child, 'exit');
  // It says so on its log when it listens; a connection is tried after that.
  for await (const line of createInterface(child.stderr)) if (/ running$/.test(line)) break;
  await answers(port);
  return {
    port,
    url: `mqtt://127.0.0.1:${port}`,
    async close() {
      child.kill();
      await ended;
      rmSync(folder, { recursive: true });
    },
  };
}

/** Starts mosquitto_sub; resolves with its first `count` lines of `topic payload`, then it ends by itself. */
export async function mosquittoSub(
  port: number,
  account: Account,
  options: { filter: string; count: number; version: 'mqttv311' | 'mqttv5' },
): Promise<readonly string[]> {
  const { filter, count, version } = options;
  const where = ['-h', '127.0.0.1', '-p', `${port}`, '-u', account.username, '-P', account.password];
  const child = spawn('mosquitto_sub', [
    ...where,
    '-V',
    version,
    '-t',
    filter,
    '-C',
    `${count}`,
    '-v',
    '-W',
    '120',
  ]);
  const lines: string[] = [];
  for await (const line of createInterface(child.stdout)) lines.push(line);
  return lines;
}

async function answers(port: number): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  socket.destroy();
}
