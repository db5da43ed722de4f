/**
 * One request from its body to its end: asks the gate, forwards when granted, reports how it ended, obeys
 * what comes next. All policy is on the other side of the gate.
 */
import type { Waiter } from '../../../ports.ts';
import { answerTo } from './answer.ts';
import { bodyHash } from './body.ts';
import type { Call, Shared } from './call.ts';
import { countTokens } from './count.ts';
import { clientGone, ended, missed, passOn, refused } from './ending.ts';
import { beat, type Exchange, factsOf, hush } from './exchange-state.ts';
import { type Forwarding, type Grant, prepare } from './forwarding.ts';
import { prepareResume } from './resume/resume.ts';
import { transcript } from './resume/transcript.ts';

/** Runs the request; returns at once. */
export function exchange(shared: Shared, call: Call): void {
  const { protocol, fields, settings } = call;
  const continuable = settings.resume && protocol.resumes && fields.plainText && !call.neverReplay;
  const x: Exchange = {
    shared,
    call,
    answer: answerTo(call.res, protocol, {
      facts() {
        const facts = factsOf(x);
        x.told = facts;
        return facts;
      },
      drained: () => x.attempt?.resume(),
    }),
    streams: fields.stream && protocol.judge !== null,
    transcript: fields.stream && continuable ? transcript(fields.model) : null,
    forwarded: 'nothing',
    stopKeepalive: null,
    grant: null,
    grantedAt: 0,
    model: null,
    attempt: null,
    kept: null,
    backendMs: null,
    told: null,
    over: false,
  };
  beat(x);
  const box: Box = { x };
  call.res.on('close', () => {
    clientGone(x);
    box.x = null;
  });
  shared.options.gate.request(newRequest(call), waiter(box));
}

/**
 * Empty when the request is over: the gate keeps waiters in a Map, and V8 links the old tables of a Map that
 * churns, so that what a waiter holds would live until the next full collection.
 */
interface Box {
  x: Exchange | null;
}

function waiter(box: Box): Waiter {
  return {
    granted(grant) {
      if (box.x !== null) granted(box.x, grant);
    },
    refused(refusal) {
      if (box.x !== null) refused(box.x, refusal);
    },
    passOn() {
      if (box.x !== null) passOn(box.x);
    },
    countTokens(instance, tell) {
      if (box.x === null) return;
      const { shared, call } = box.x;
      const { connections, options } = shared;
      void countTokens({ connections, clock: options.clock, instance, ...call }).then(tell);
    },
    bodyHash: () => (box.x === null ? null : bodyHash(box.x.call)),
  };
}

function newRequest({ id, requestId, path, protocol, fields, neverReplay, drill, deadlineMs, client }: Call) {
  const { model, stream, background } = fields;
  const promptBytes = protocol.generates ? fields.textBytes : null;
  const told = { model, path, stream, neverReplay, drill, deadlineMs, client, background, promptBytes };
  return { id, externalId: requestId, ...told };
}

function granted(x: Exchange, grant: Grant): void {
  const { shared, call, answer } = x;
  const { gate, clock } = shared.options;
  if (x.over) {
    gate.attemptEnded(call.id, { kind: 'client_gone', finished: false });
    return;
  }
  x.grant = grant;
  x.grantedAt = clock.now().mono;
  x.kept = null;
  x.backendMs = null;
  const resumes = x.forwarded !== 'nothing';
  const taken = shared.connections.take(grant.instance, grant.freshConnection || resumes);
  if (taken === undefined) {
    const { forwarded } = x;
    gate.attemptEnded(call.id, { kind: 'failed', failure: { kind: 'refused' }, forwarded });
    return;
  }
  x.model = taken.model;
  if (hasMoved(x, grant)) announce(x, grant);
  const forwarding: Forwarding = {
    shared,
    call,
    answer,
    streams: x.streams,
    grant,
    taken,
    missed: (what) => missed(x, what),
    begun(answers) {
      x.backendMs = clock.now().mono - x.grantedAt;
      if (answers) hush(x);
    },
    ended: (end) => ended(x, end),
  };
  const { judge } = call.protocol;
  const text = x.transcript;
  const goesOn = resumes && text !== null && judge !== null;
  x.attempt = goesOn ? prepareResume(forwarding, text, judge) : prepare(forwarding, text);
  x.attempt.send();
}

/** The client has a head, and the answer will come from elsewhere than it says, or than a comment said since. */
function hasMoved({ told }: Exchange, { attempt, placement }: Grant): boolean {
  if (told === null) return false;
  if (told.placement === null) return attempt > 1;
  return told.attempts !== attempt || told.placement !== placement;
}

function announce(x: Exchange, grant: Grant): void {
  x.answer.comment(changedPlacement(grant));
  x.told = { placement: grant.placement, attempts: grant.attempt };
}

function changedPlacement({ attempt, placement, reason }: Grant): string {
  const why = reason === null ? '' : ` reason=${reason.replaceAll(/[^\w-]/g, '_')}`;
  return `llamastead attempt=${attempt} placement=${placement}${why}`;
}
