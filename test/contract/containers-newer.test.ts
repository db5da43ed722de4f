/** The contract of the Containers port on a newer Docker engine than the bench's (28.5, API 1.51). */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { compareVersions, NEWEST_TESTED } from '../../app/adapters/docker/api-version.ts';
import { type Bench, ensureBench } from '../home/bench.ts';
import { BUILDING } from '../support/building.ts';
import type { BenchEngine } from '../support/containers/bench.ts';
import { type NewerEngine, startNewerEngine } from '../support/newer-engine/newer-engine.ts';
import { containersContract } from './containers-suite.ts';
import { inContainerContract } from './in-container-suite.ts';
import { realEngine } from './real-engine.ts';

const TIMEOUT = 600_000;

let bench: Bench | undefined;
let newer: NewerEngine | undefined;

function ready(): BenchEngine {
  if (bench === undefined || newer === undefined) throw new Error('the newer engine is not up');
  return realEngine({ ...bench, docker: newer.docker, socket: newer.socket });
}

before(async () => {
  bench = await ensureBench();
  newer = await startNewerEngine(bench);
}, BUILDING);
after(() => newer?.stop());

test('the newest API that is spoken is spoken here', async () => {
  const api = await newer?.docker.run(['version', '--format', '{{.Server.APIVersion}}']);
  assert.ok(compareVersions(api ?? '', NEWEST_TESTED) >= 0, `API ${api}`);
});
containersContract('a newer Docker engine', ready, TIMEOUT);
inContainerContract('a newer Docker engine', ready, TIMEOUT);
