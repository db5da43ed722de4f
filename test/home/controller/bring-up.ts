import { resolve } from 'node:path';
import { stringify } from 'yaml';
import type { Bench } from '../bench.ts';
import { StepFailure } from '../lib/failure.ts';
import type { Progress, Step } from '../lib/steps.ts';
import { runStep } from '../lib/steps.ts';
import { type ControllerApi, controllerApi } from './api.ts';
import {
  type ContainerPlan,
  containerName,
  findController,
  type Ports,
  planHash,
  publishedPorts,
  removeController,
  startController,
} from './container.ts';
import { folders, makeFolders, mqttPassword, writeConfig } from './folders.ts';
import { type HomeFile, readHomeFile, writeHomeFile } from './home-file.ts';
import { freePort } from './ports.ts';
import {
  benchSettings,
  mergeSettings,
  type Outward,
  outwardOf,
  readSettings,
  type Section,
  writtenOut,
} from './settings.ts';

import { refuseInvalid, untilReady, untilReloaded } from './waits.ts';

export interface HomeOptions {
  /** A llamastead.yaml to merge over the bench's own. */
  config?: string;
  story: boolean;
}

export interface RunningHome {
  file: HomeFile;
  api: ControllerApi;
  outward: Outward;
}

const usualPorts = { http: 11_535, mqtt: 11_536 };

/**
 * Brings the controller of this checkout to the image and the configuration of this call: a running one by
 * reload, one with another image or other fixed keys anew.
 * @throws StepFailure
 */
export async function bringUpHome(
  bench: Bench,
  image: string,
  options: HomeOptions,
  progress: Progress,
): Promise<RunningHome> {
  const settings = settingsFor(bench, options);
  const outward = outwardOf(settings);
  const plan = planFor(bench, image, settings, outward);
  makeFolders(bench);
  const step: Step<RunningHome> = {
    name: 'Llamastead',
    advice: `Read its log: DOCKER_HOST=${bench.docker.host} docker logs ${containerName}`,
    find: () => reloadRunning(bench, plan, settings, outward),
    make: () => startAnew(bench, plan, settings, outward),
  };
  return runStep(step, progress);
}

function settingsFor(bench: Bench, options: HomeOptions): Section {
  const own = benchSettings(bench, { mqttPassword: mqttPassword(), story: options.story });
  if (options.config === undefined) return own;
  try {
    // npm runs scripts in the checkout; a path is meant from where the person stands.
    return mergeSettings(own, readSettings(resolve(process.env['INIT_CWD'] ?? '.', options.config)));
  } catch (error) {
    throw new StepFailure('configuration', 'Mend the file that --config names.', error);
  }
}

function planFor(bench: Bench, image: string, settings: Section, outward: Outward): ContainerPlan {
  const { listen, paths, network, engines } = settings;
  const { base, instance, embedded } = outward.mqtt;
  return {
    image,
    folders,
    socket: bench.socket,
    ports: { http: outward.listen.port ?? usualPorts.http, mqtt: embedded.port ?? usualPorts.mqtt },
    fixedSettings: JSON.stringify({ listen, paths, network, engines, base, instance, embedded }),
  };
}

/** undefined: no controller of this plan runs. */
async function reloadRunning(
  bench: Bench,
  plan: ContainerPlan,
  settings: Section,
  outward: Outward,
): Promise<RunningHome | undefined> {
  const [found, known] = [await findController(bench.docker), readHomeFile()];
  if (found?.running !== true || found.plan !== planHash(plan) || known === undefined) return undefined;
  const file = describeHome(bench, outward, await publishedPorts(bench.docker, plan.ports));
  const api = controllerApi(file.url, file.adminToken);
  const oldApi = controllerApi(known.url, known.adminToken);
  const before = await oldApi.state();
  if (writeConfig(stringify(settings))) {
    await bench.docker.run(['kill', '--signal', 'HUP', containerName]);
    await untilReloaded(bench.docker, api, before);
  }
  await untilReady(bench.docker, api);
  refuseInvalid(await api.state());
  return remember({ file, api, outward });
}

async function startAnew(
  bench: Bench,
  plan: ContainerPlan,
  settings: Section,
  outward: Outward,
): Promise<RunningHome> {
  if ((await findController(bench.docker)) !== undefined) await removeController(bench.docker);
  writeConfig(stringify(settings));
  const published = await choosePorts(outward);
  await startController(bench, plan, published);
  const file = describeHome(bench, outward, published);
  const api = controllerApi(file.url, file.adminToken);
  await untilReady(bench.docker, api);
  return remember({ file, api, outward });
}

/** Writes home.json. A Home Assistant that was brought up earlier stays in it. */
function remember(home: RunningHome): RunningHome {
  const homeAssistant = readHomeFile()?.homeAssistant;
  writeHomeFile({ ...home.file, ...(homeAssistant === undefined ? {} : { homeAssistant }) });
  return home;
}

/** A port that the configuration gives is taken as it is; else the usual one, the one of before, or any. */
async function choosePorts(outward: Outward): Promise<Ports> {
  const known = readHomeFile();
  const wanted = (usual: number, url: string | undefined) =>
    url === undefined ? [usual] : [usual, portOf(url)];
  return {
    http: outward.listen.port ?? (await freePort(wanted(usualPorts.http, known?.url))),
    mqtt: outward.mqtt.embedded.port ?? (await freePort(wanted(usualPorts.mqtt, known?.mqtt))),
  };
}

function portOf(url: string): number {
  return Number(new URL(url).port);
}

function describeHome(bench: Bench, outward: Outward, published: Ports): HomeFile {
  const url = `http://127.0.0.1:${published.http}`;
  const adminToken = writtenOut(outward.security.adminToken);
  return {
    url,
    page: `${url}/`,
    docker: bench.docker.host,
    mqtt: brokerUrl(outward, published.mqtt),
    models: folders.models,
    container: containerName,
    ...(adminToken === undefined ? {} : { adminToken }),
  };
}

function brokerUrl({ mqtt }: Outward, port: number): string {
  const url = new URL(mqtt.url ?? `mqtt://127.0.0.1:${port}`);
  const user = mqtt.url === null ? mqtt.embedded.username : (mqtt.username ?? '');
  const password = writtenOut(mqtt.url === null ? mqtt.embedded.password : mqtt.password) ?? '';
  const account = user === '' ? '' : `${encodeURIComponent(user)}:${encodeURIComponent(password)}@`;
  return `${url.protocol}//${account}${url.host}`;
}
