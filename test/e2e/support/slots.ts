/** What an instance itself says of its slots, and what its log says that it did. */
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { generationsOf } from '../../support/llama-log.ts';
import { get } from '../../support/raw-client.ts';
import type { Controller } from './controller.ts';

export interface Slot {
  readonly is_processing: boolean;
  /** Number of its last task. */
  readonly id_task?: number;
}

export interface Instance {
  slots(): Promise<Slot[]>;
  busy(): Promise<number>;
  /**
   * Whether it works on nothing. Its log is asked first: llama-server looks whether the client of an answer that has
   * not begun is still there only after a second without any result, and `/slots` is one.
   */
  isFree(): Promise<boolean>;
  /** Requests that it began to work on, from its log. */
  tasks(): Promise<number>;
}

/** Asks llama-server directly, with its own key, on the network that it shares. */
export async function instanceOf(
  controller: Controller,
  model: string,
  placement: string,
): Promise<Instance> {
  const container = await controller.container(model, placement);
  const inspect = async (name: string, format: string) => controller.docker('inspect', '-f', format, name);
  const env = new Map(
    (JSON.parse(await inspect(container, '{{json .Config.Env}}')) as string[]).map((line) => {
      const [name = '', ...value] = line.split('=');
      return [name, value.join('=')] as const;
    }),
  );
  const holder = (await inspect(container, '{{.HostConfig.NetworkMode}}')).replace('container:', '');
  const host = await inspect(holder, '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}');
  const url = `http://${host}:${env.get('LLAMA_ARG_PORT')}`;
  const key = env.get('LLAMA_API_KEY') ?? '';
  const headers = { Authorization: `Bearer ${key}` };
  const slots = async () => JSON.parse((await get(`${url}/slots`, headers)).text()) as Slot[];
  const busy = async () => (await slots()).filter((slot) => slot.is_processing).length;
  const log = { url, key, read: () => logOf(controller.bench.socket, container) };
  return {
    slots,
    busy,
    async isFree() {
      const { begun, ended } = await generationsOf(log);
      return begun === ended && (await busy()) === 0;
    },
    tasks: async () => (await generationsOf(log)).begun,
  };
}

/** All that the container wrote, with Docker's frame headers in between. */
async function logOf(socketPath: string, container: string): Promise<string> {
  const asked = request({ socketPath, path: `/containers/${container}/logs?stdout=1&stderr=1` });
  asked.end();
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  return Buffer.concat(await response.toArray()).toString('latin1');
}
