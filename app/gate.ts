/** The loop as the edges see it: requests and commands go in, the view comes out. */

import { queuePosition } from './core/queue.ts';
import { snapshot } from './core/snapshot.ts';
import type { View } from './core/view.ts';
import type { Loop } from './loop.ts';
import type { Clock, Gate } from './ports.ts';
import type { Waiters } from './waiters.ts';

export interface GateParts {
  readonly loop: Loop;
  readonly waiters: Waiters;
  /** Number of the newest fact, told or about to be. */
  readonly newest: () => number;
  readonly clock: Clock;
  readonly version: string;
}

export function makeGate({ loop, waiters, newest, clock, version }: GateParts): Gate {
  let nextCommand = 1;
  let made: { readonly version: number; readonly at: number; readonly view: View } | null = null;
  const about = () => ({ seq: newest(), version, iso: (wall: number) => new Date(wall).toISOString() });

  return {
    request(request, waiter) {
      waiters.expect(request.id, waiter);
      // A hash of each body would be the dearest part of a small request: only while some are refused.
      const body = loop.state.refusedBodies.size > 0 ? waiter.bodyHash() : null;
      loop.submit({ type: 'request_received', request, body });
    },
    attemptEnded(request, outcome, timings = null) {
      if (outcome.kind === 'completed' || outcome.kind === 'client_gone') waiters.forget(request);
      loop.submit({ type: 'attempt_ended', request, outcome, timings });
    },
    slow: (request) => loop.submit({ type: 'request_slow', request }),
    abandoned(request) {
      waiters.forget(request);
      loop.submit({ type: 'request_abandoned', request });
    },
    position: (request) => queuePosition(loop.state, request, clock.now()),
    command(command) {
      const id = nextCommand;
      nextCommand += 1;
      const done = waiters.expectResult(id);
      loop.submit({ type: 'command', id, command });
      return { accepted: newest(), done };
    },
    view() {
      const now = clock.now();
      // Several readers ask in one turn; a retry that came due changes the view without a fold.
      if (made === null || made.version !== loop.state.version || now.mono !== made.at) {
        made = { version: loop.state.version, at: now.mono, view: snapshot(loop.state, now, about()) };
      }
      return made.view;
    },
    onChange: loop.onTurn,
  };
}
