import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, connect as tcp } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { connectAsync, type IClientOptions } from 'mqtt';
import { generate } from 'mqtt-packet';
import { type Broker, embeddedBroker, makePassword } from '../../../app/adapters/mqtt/broker.ts';
import { fc } from '../../support/property.ts';
import { PATIENCE_MS } from '../../support/until.ts';
import { silentLog } from './support/home.ts';
import { type Listener, listener } from './support/listener.ts';

const account = { username: 'llamastead', password: 'correct horse' };
const closing = ({ client }: Listener) => new Promise<void>((done) => client.once('close', () => done()));
const open = () => embeddedBroker({ host: '127.0.0.1', port: 0, ...account, log: silentLog });

describe('the embedded broker', { timeout: PATIENCE_MS }, () => {
  let broker: Broker;
  before(async () => {
    broker = await open();
  });
  after(() => broker.close());
  const refused = async (options: IClientOptions) => {
    const error = await connectAsync(broker.url, { reconnectPeriod: 0, ...options }, false).then(
      () => null,
      (thrown: unknown) => thrown,
    );
    assert.ok(error instanceof Error);
    return error.message;
  };

  for (const protocolVersion of [4, 5] as const) {
    it(`passes messages on to clients of protocol ${protocolVersion}, retained ones also to later clients`, async () => {
      const options = { protocolVersion };
      const sender = await listener(broker.url, account, ['none'], options);
      await sender.say(`kept/${protocolVersion}`, 'a', { retain: true });
      const receiver = await listener(broker.url, account, [`kept/${protocolVersion}`, 'live/+'], options);
      assert.equal((await receiver.hears(`kept/${protocolVersion}`)).retain, true);
      await sender.say('live/x', 'b');
      assert.deepEqual(await receiver.hears('live/x'), { topic: 'live/x', payload: 'b', retain: false });
      await sender.close();
      await receiver.close();
    });

    it(`refuses protocol ${protocolVersion} clients without or with a wrong password, naming it`, async () => {
      for (const wrong of [{}, { username: 'llamastead', password: 'wrong' }, { ...account, username: 'x' }])
        assert.match(await refused({ protocolVersion, ...wrong }), /bad user ?name or password/i);
    });

    it(`sends the last will of a protocol ${protocolVersion} client that broke off, not of one that left`, async () => {
      const watcher = await listener(broker.url, account, [`will/${protocolVersion}/+`]);
      const will = (name: string) => ({
        protocolVersion,
        will: {
          topic: `will/${protocolVersion}/${name}`,
          payload: Buffer.from('gone'),
          qos: 1 as const,
          retain: false,
        },
      });
      const left = await listener(broker.url, account, ['none'], will('left'));
      await left.client.endAsync();
      const broke = await listener(broker.url, account, ['none'], will('broke'));
      broke.client.stream.destroy();
      await watcher.hears(`will/${protocolVersion}/broke`);
      assert.deepEqual(
        watcher.heard.map((message) => message.topic),
        [`will/${protocolVersion}/broke`],
      );
      await watcher.close();
    });
  }

  it('tells MQTT 5 clients which of their subscriptions a message is for', async () => {
    const client = await listener(broker.url, account, ['none'], { protocolVersion: 5 });
    const ids: unknown[] = [];
    client.client.on('message', (_topic, _payload, packet) =>
      ids.push(packet.properties?.subscriptionIdentifier),
    );
    const subscribe = (topic: string, subscriptionIdentifier: number) =>
      client.client.subscribeAsync(topic, { qos: 1, properties: { subscriptionIdentifier } });
    await subscribe('ids/#', 7);
    await subscribe('ids/+/b', 9);
    await client.say('ids/a', '1');
    await client.say('ids/a/b', '2');
    await client.hears('ids/a/b');
    await client.client.unsubscribeAsync('ids/#');
    await client.say('ids/c/b', '3');
    await client.hears('ids/c/b');
    assert.deepEqual(ids, [7, [7, 9], 9]);
    await client.close();
  });

  it('names an MQTT 5 client that does not name itself', async () => {
    const client = await connectAsync(broker.url, {
      ...account,
      protocolVersion: 5,
      clientId: '',
      clean: true,
    });
    assert.match(
      String(client.options.clientId) + JSON.stringify(client.serverProperties ?? {}),
      /auto-[0-9a-f]{16}/,
    );
    await client.endAsync();
  });

  it('ends a connection whose packets are too large, before it has read them', async () => {
    const stranger = tcp(broker.port, '127.0.0.1');
    stranger.on('error', () => {});
    const huge = generate({
      cmd: 'connect',
      clientId: 'x',
      protocolId: 'MQTT',
      protocolVersion: 4,
      clean: true,
    });
    stranger.write(Buffer.concat([Buffer.of(0x10, 0xff, 0xff, 0xff, 0x7f), huge]));
    await once(stranger, 'close');
    const client = await listener(broker.url, account);
    client.client.publish('big', Buffer.alloc(300 * 1024));
    await closing(client);
  });

  it('ends a connection that speaks something else, and goes on', async () => {
    const stranger = tcp(broker.port, '127.0.0.1');
    stranger.on('error', () => {});
    stranger.write('GET / HTTP/1.1\r\nHost: nas\r\n\r\n');
    await once(stranger, 'close');
    await (await listener(broker.url, account)).close();
  });

  it('survives whatever a client sends after it has signed in', async () => {
    const hello = (protocolVersion: 4 | 5) =>
      generate({
        ...{ cmd: 'connect', clientId: 'fuzz', protocolId: 'MQTT', protocolVersion, clean: true },
        ...{ username: account.username, password: Buffer.from(account.password) },
      });
    const packet = fc
      .tuple(fc.integer({ min: 0, max: 255 }), fc.uint8Array({ maxLength: 60 }))
      .map(([first, body]) => Buffer.concat([Buffer.of(first, body.length), body]));
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(4, 5),
        fc.array(packet, { maxLength: 6 }),
        async (version, packets) => {
          const socket = tcp(broker.port, '127.0.0.1');
          socket.on('error', () => {});
          socket.end(Buffer.concat([hello(version), ...packets]));
          socket.resume();
          await once(socket, 'close');
        },
      ),
      { numRuns: 150 },
    );
    const client = await listener(broker.url, account, ['alive']);
    await client.say('alive', 'yes');
    await client.hears('alive');
    await client.close();
  });

  it('keeps nothing for clients that are away', async () => {
    const options = { clientId: 'sleeper', clean: false };
    const first = await listener(broker.url, account, ['sleep/#'], options);
    await first.close();
    const other = await listener(broker.url, account, ['none']);
    await other.say('sleep/a', 'missed');
    const again = await listener(broker.url, account, ['awake/#'], options);
    await other.say('awake/a', 'heard');
    await again.hears('awake/a');
    assert.equal(again.heard.length, 1);
    await again.close();
    await other.close();
  });

  it('says which port is taken by whom it cannot listen', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const address = other.address();
    assert.ok(typeof address === 'object' && address !== null);
    await assert.rejects(
      embeddedBroker({ host: '127.0.0.1', port: address.port, ...account, log: silentLog }),
      {
        code: 'broker_failed',
        details: { host: '127.0.0.1', port: address.port, code: 'EADDRINUSE' },
      },
    );
    other.close();
  });

  it('ends its connections when it closes', async () => {
    const second = await open();
    const client = await listener(second.url, account);
    const closed = closing(client);
    await second.close();
    await closed;
  });
});

describe('a made password', () => {
  it('has 24 characters that are not mistaken for each other, the same for the same bytes', () => {
    const bytes = Uint8Array.from({ length: 24 }, (_, i) => i * 10);
    assert.equal(makePassword(bytes), makePassword(bytes));
    assert.match(makePassword(bytes), /^[A-HJ-NP-Za-km-z2-8]{24}$/);
    assert.throws(() => makePassword(new Uint8Array(8)), { code: 'internal' });
  });
});

it('a connection that never says who it is does not hold up the end', { timeout: 9_000 }, async () => {
  const broker = await open();
  const silent = tcp(broker.port, '127.0.0.1');
  const gone = once(silent, 'close');
  await (await listener(broker.url, account)).close();
  await broker.close();
  await gone;
});
