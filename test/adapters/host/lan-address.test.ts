import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import type { NetworkInterfaceInfo } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { lanAddress } from '../../../app/adapters/host/lan-address.ts';
import { temporaryFolder } from '../../support/temporary.ts';

const HEAD = 'Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n';
const WIFI = 'wlan0\t00000000\t0101A8C0\t0003\t0\t0\t600\t00000000\t0\t0\t0\n';
const CABLE = 'eth0\t00000000\t0101A8C0\t0003\t0\t0\t100\t00000000\t0\t0\t0\n';
const DOWN = 'eth1\t00000000\t0101A8C0\t0002\t0\t0\t1\t00000000\t0\t0\t0\n';
const LOCAL = 'docker0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n';

function address(family: 'IPv4' | 'IPv6', text: string): NetworkInterfaceInfo {
  const rest = { netmask: '', mac: '', internal: false, cidr: null };
  return family === 'IPv4'
    ? { ...rest, family, address: text }
    : { ...rest, family, address: text, scopeid: 0 };
}

const interfaces = () => ({
  docker0: [address('IPv4', '172.17.0.1')],
  wlan0: [address('IPv4', '192.168.1.20')],
  eth0: [address('IPv6', 'fe80::1'), address('IPv4', '192.168.1.10')],
});

async function on(t: TestContext, routes: string, marks: readonly string[] = []): Promise<string | null> {
  const root = await temporaryFolder(t);
  await mkdir(join(root, 'proc/net'), { recursive: true });
  await mkdir(join(root, 'run'));
  await writeFile(join(root, 'proc/net/route'), HEAD + routes);
  for (const mark of marks) await writeFile(join(root, mark), '');
  return lanAddress({ root, interfaces });
}

test('it is the IPv4 address of the interface with the best default route that is up', async (t) => {
  assert.equal(await on(t, LOCAL + WIFI + CABLE + DOWN), '192.168.1.10');
  assert.equal(await on(t, WIFI), '192.168.1.20');
});

test('it is not known without a default route, nor where the kernel tells none', async (t) => {
  assert.equal(await on(t, LOCAL), null);
  assert.equal(await lanAddress({ root: await temporaryFolder(t), interfaces }), null);
});

test('it is not known in a container', async (t) => {
  assert.equal(await on(t, CABLE, ['.dockerenv']), null);
  assert.equal(await on(t, CABLE, ['run/.containerenv']), null);
});
