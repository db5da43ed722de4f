/** An instance that says nothing in the middle of a request: it is slow, or its program is frozen. */
import assert from 'node:assert/strict';
import { after, beforeEach, describe, test } from 'node:test';
import { watchedClock } from '../../../support/clock.ts';
import { CHAT_STREAM, chat, fakeLlama, silent, stream, WHOLE, whole } from '../../../support/fake-llama.ts';
import { type Bench, forwardBench, type Verdict } from '../../../support/forward-bench.ts';
import { post } from '../../../support/raw-client.ts';

const CHAT = { model: 'chat', stream: true, messages: [{ role: 'user', content: 'hi' }] };
const PATH = '/v1/chat/completions';
const SILENCE = 30_000;
const cpu = await fakeLlama(silent);
const benches: Bench[] = [];

beforeEach(() => cpu.beAsked(silent));

after(async () => {
  for (const bench of benches) await bench.close();
  await cpu.close();
});

const tooLate: Verdict = {
  do: 'refuse',
  refusal: { code: 'failed_after_output', message: 'it died', retryAfter: null },
};
const frozen = (forwarded: string) => ({ kind: 'failed', failure: { kind: 'frozen' }, forwarded });

/** One request is granted the CPU; the fake has it when this resolves. */
async function onCpu(body: object, onFailure: Verdict = tooLate) {
  const clock = watchedClock();
  const bench = await forwardBench({
    ports: [cpu.port, cpu.port],
    clock,
    settings: { silenceMs: SILENCE, keepaliveMs: 3_600_000 },
    onArrival: () => ({ do: 'grant', instance: 1 }),
    onFailure: () => onFailure,
  });
  benches.push(bench);
  const n = cpu.arrivals.length;
  const sent = post(bench.url + PATH, body);
  return { clock, bench, sent, arrival: await cpu.arrival(n), ticket: await bench.ticket(0) };
}

/** Counts the questions for a sign of life, and answers them. */
function answering() {
  const asked = { times: 0 };
  cpu.beAsked(({ head, end }) => {
    asked.times += 1;
    head(503);
    end('{}');
  });
  return asked;
}

describe('a frozen CPU ends no later than twice the silence', () => {
  test('before the first byte: the request goes elsewhere', async () => {
    cpu.behave(silent);
    const { clock, sent, arrival, ticket } = await onCpu(CHAT, { do: 'grant', instance: 0 });
    cpu.behave(stream(CHAT_STREAM));
    clock.advance(2 * SILENCE - 1);
    assert.deepEqual(ticket.outcomes, []);
    clock.advance(1);
    await arrival.closed;
    const reply = await sent.reply;
    await reply.end;
    assert.equal(reply.text(), CHAT_STREAM.join(''));
    assert.deepEqual(ticket.outcomes[0], frozen('nothing'));
  });

  test('before a whole answer', async () => {
    cpu.behave(silent);
    const { clock, sent, ticket } = await onCpu({ ...CHAT, stream: false }, { do: 'grant', instance: 0 });
    cpu.behave(whole());
    clock.advance(2 * SILENCE);
    const reply = await sent.reply;
    await reply.end;
    assert.equal(reply.text(), WHOLE);
    assert.deepEqual(ticket.outcomes[0], frozen('nothing'));
  });

  test('in the middle of a stream', async () => {
    cpu.behave(stream([chat.role, chat.text('a')], 'hang'));
    const { clock, sent, arrival, ticket } = await onCpu(CHAT);
    const reply = await sent.reply;
    await reply.until('"content":"a"');
    clock.advance(2 * SILENCE);
    await arrival.closed;
    await reply.end;
    assert.deepEqual(ticket.outcomes, [frozen('content')]);
    assert.match(reply.text(), /failed_after_output/);
  });
});

describe('a slow CPU that answers when it is asked is waited for,', () => {
  const ROUNDS = 20;

  /** Its silence lasts, and each question is answered. */
  async function wait(clock: ReturnType<typeof watchedClock>): Promise<void> {
    for (let round = 0; round < ROUNDS; round += 1) {
      clock.advance(SILENCE);
      await clock.nextRead();
    }
  }

  test('however long its prompt takes', async () => {
    const asked = answering();
    cpu.behave(silent);
    const { clock, sent, arrival, ticket } = await onCpu({ ...CHAT, stream: false });
    await wait(clock);
    assert.deepEqual(ticket.outcomes, []);
    await whole()(arrival);
    const reply = await sent.reply;
    await reply.end;
    assert.equal(reply.text(), WHOLE);
    assert.equal(asked.times, ROUNDS);
    assert.deepEqual(ticket.outcomes, [{ kind: 'completed' }]);
  });

  test('however long it pauses within the answer', async () => {
    const asked = answering();
    cpu.behave(stream([chat.role, chat.text('a')], 'hang'));
    const { clock, sent, arrival, ticket } = await onCpu(CHAT);
    const reply = await sent.reply;
    await reply.until('"content":"a"');
    await wait(clock);
    for (const event of [chat.text('b'), chat.finish, chat.done]) await arrival.write(event);
    arrival.end();
    await reply.end;
    assert.match(reply.text(), /\[DONE\]/);
    assert.equal(asked.times, ROUNDS);
    assert.deepEqual(ticket.outcomes, [{ kind: 'completed' }]);
  });
});

test('a question is given up with the request, whose connection does not carry it', async () => {
  const questions = Promise.withResolvers<{ connection: number; closed: Promise<void> }>();
  cpu.beAsked((question) => questions.resolve(question));
  cpu.behave(silent);
  const { clock, sent, arrival } = await onCpu(CHAT);
  clock.advance(SILENCE);
  const { connection, closed } = await questions.promise;
  assert.notEqual(connection, arrival.connection);
  sent.leave();
  await closed;
});
