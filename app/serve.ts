/** The composition: makes the parts, connects them around the loop, and ends them in the right order. */

import { availableParallelism } from 'node:os';
import { detectGpus } from './adapters/host/gpus.ts';
import { lanAddress } from './adapters/host/lan-address.ts';
import type { Config, LoadedConfig, ParsedConfig } from './config.ts';
import type { ProblemCode } from './core/codes.ts';
import type { FactBody } from './core/facts.ts';
import type { Input } from './core/inputs.ts';
import type { InstanceId } from './core/request.ts';
import type { Problem } from './core/types.ts';
import { makeExecutors } from './executors.ts';
import { makeGate } from './gate.ts';
import type { Log } from './log.ts';
import { type Loop, makeLoop } from './loop.ts';
import type { Clock } from './ports.ts';
import { drillEdge } from './serve/drills.ts';
import { engineContainers, openEngines, refuseSecondController } from './serve/engines.ts';
import { folderParts } from './serve/files.ts';
import { followConfig } from './serve/follow-config.ts';
import { healthOf } from './serve/health.ts';
import { heedInLog } from './serve/heed.ts';
import { httpEdge } from './serve/http.ts';
import { keepTotals } from './serve/kept.ts';
import { quietly, seldom } from './serve/looks.ts';
import { machineMemory } from './serve/machine-memory.ts';
import { mqttEdge } from './serve/mqtt.ts';
import { pageUrl } from './serve/page-url.ts';
import { policySource } from './serve/policy-source.ts';
import { carriedOver, openStateFolder } from './serve/state-folder.ts';
import { every, watchPath } from './serve/watch.ts';
import { makeWaiters } from './waiters.ts';

/** What is not there may come: models folder, mounts. */
const RESCAN_MS = 30_000;
const SAMPLE_MS = 10_000;
/** What is left of the grace for the last bytes of answers, ms. */
const LAST_BYTES_MS = 2_000;

export interface ServeParts {
  readonly loaded: LoadedConfig;
  /** Reads the configuration file again. */
  readonly readConfig: () => ParsedConfig;
  readonly configPath: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly version: string;
}

export interface Service {
  readonly url: string;
  /** Drains and ends everything; resolves when the process may end. */
  stop(): Promise<void>;
  reload(): Promise<void>;
  /** No request waits or runs. */
  isIdle(): boolean;
}

/**
 * Starts the controller. Rejects with AppError `already_running` where another one of this home lives, and with
 * `listen_failed` where its port cannot be had.
 */
export async function serve(parts: ServeParts): Promise<Service> {
  const { loaded, clock, log, version } = parts;
  const { config } = loaded;
  heedInLog(log, config);
  await refuseSecondController(config, clock);

  // The disk may report problems before there is a loop to take them.
  let submit: (input: Input) => void = (input) => early.push(input);
  const early: Input[] = [];
  const sink = {
    problem: (problem: Problem) => submit({ type: 'problem_seen', problem }),
    problemGone: (code: ProblemCode) => submit({ type: 'problem_gone', code }),
  };
  const state = await openStateFolder(config.paths.state, { clock, log, sink });
  const { store, events } = state;

  const latest = { config: (): Config => config, policy: () => loop.state.policy };
  const { containers, arm } = engineContainers(config, latest, store.state().owner, clock, log);
  const waiters = makeWaiters();
  const folder = folderParts(config.paths.models, log);
  const { memory, host, devices } = machineMemory(containers, clock);
  let newest = events.seq;
  let closeConnections: (instance: InstanceId) => void = () => {};
  let lookForGpus: () => void = () => {};
  let stopped: () => void = () => {};
  const ended = new Promise<void>((resolve) => {
    stopped = resolve;
  });
  const loop: Loop = makeLoop({
    clock,
    carried: carriedOver(state),
    publish(facts: readonly FactBody[], wall) {
      newest = events.append(facts, wall);
      for (const fact of facts) log.logger.info(fact, fact.type);
    },
    executors: makeExecutors({
      waiters,
      containers,
      host,
      devices,
      ...folder,
      closeConnections: (instance) => closeConnections(instance),
      lookForGpus: () => lookForGpus(),
      submit: (input) => submit(input),
      stopped: () => stopped(),
      clock,
      log: log.logger,
    }),
  });
  submit = loop.submit;
  for (const input of early) submit(input);
  for (const problem of state.problems) sink.problem(problem);

  const source = await policySource({
    loaded,
    settingsFile: state.settingsFile,
    modelFiles: folder.modelFiles,
    detectGpus,
    cores: availableParallelism(),
    submit,
  });
  latest.config = source.config;
  const rescan = quietly(log.logger, source.rescan);
  lookForGpus = seldom(clock, rescan);

  const gate = makeGate({ loop, waiters, newest: () => newest, clock, version });
  const lan = await lanAddress();
  let page: string | null = null;
  let url = '';
  const drilling = await drillEdge({
    file: state.drillsFile,
    loop,
    gate,
    events,
    containers,
    arm,
    host: memory,
    url: () => url,
    key: () => source.config().security.apiKeys[0] ?? null,
    clock,
    log,
  });
  let wasUp: boolean | null = null;
  const mqtt = mqttEdge({
    config: source.config().mqtt,
    madePassword: store.state().brokerPassword,
    gate,
    events,
    settings: source.settings,
    drills: drilling.drills,
    memoryFile: state.mqttFile,
    version,
    pageUrl: () => page,
    passwordFile: state.file,
    clock,
    log,
    ...sink,
    onBroker(up, detail) {
      if (wasUp !== null || !up) submit({ type: 'broker_changed', up, detail });
      wasUp = up;
    },
  });
  const http = httpEdge({
    config: source.config,
    gate,
    state: loop.state,
    containers,
    events,
    settings: source.settings,
    drills: drilling.drills,
    isDrill: drilling.isOurs,
    health: () => healthOf(loop.state, mqtt.up()),
    access: { ...mqtt, url: () => page },
    clock,
    log,
  });
  closeConnections = http.models.closeConnections;

  const { host: at, port } = await http.server.listen();
  url = `http://${at === '0.0.0.0' || at === '::' ? '127.0.0.1' : at}:${port}`;
  page = pageUrl(config.listen, port, lan);
  await openEngines(containers, submit, rescan);
  await mqtt.start();

  const { reload, stop: unfollow } = followConfig({ ...parts, source, gate, drills: drilling.drills });
  const sample = async (): Promise<void> => submit({ type: 'host_sampled', host: await host.sample() });
  await sample();
  const endings = [
    keepTotals(loop, store, clock),
    watchPath(parts.configPath, 'file', clock, quietly(log.logger, reload)),
    watchPath(config.paths.models, 'folder', clock, rescan),
    every(clock, RESCAN_MS, async () => {
      if (loop.state.problems.size > 0) await source.rescan();
    }),
    every(clock, SAMPLE_MS, sample),
    unfollow,
  ];

  return {
    url,
    reload,
    isIdle: () => loop.state.requests.size === 0,
    async stop() {
      for (const end of endings) end();
      submit({ type: 'shutdown' });
      http.models.hurry();
      await ended;
      await http.server.close(LAST_BYTES_MS);
      http.models.close();
      await mqtt.stop();
      await containers.close({ holders: source.config().shutdown.instances === 'stop' });
      loop.close();
      await events.close();
      await store.flush();
    },
  };
}
