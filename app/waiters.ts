/** Who waits for the core: requests for a grant or an end, commands for their result. */
import type { CommandResult, InstanceId, RequestId } from './core/request.ts';
import type { Executors } from './loop.ts';
import type { Waiter } from './ports.ts';

export interface Waiters {
  readonly executors: Pick<Executors, 'grant' | 'refuse' | 'pass_on' | 'answer_command'>;
  expect(request: RequestId, waiter: Waiter): void;
  /** No more calls for this request: it ended, or its client went. */
  forget(request: RequestId): void;
  /** Does nothing where nobody waits for it any more. */
  countTokens(request: RequestId, instance: InstanceId, tell: (tokens: number | null) => void): void;
  /** Null where nobody waits for it any more. */
  bodyHash(request: RequestId): string | null;
  expectResult(command: number): Promise<CommandResult>;
}

export function makeWaiters(): Waiters {
  const requests = new Map<RequestId, Waiter>();
  const commands = new Map<number, (result: CommandResult) => void>();

  const last = (request: RequestId): Waiter | undefined => {
    const waiter = requests.get(request);
    requests.delete(request);
    return waiter;
  };

  return {
    executors: {
      grant: (effect) => requests.get(effect.request)?.granted(effect),
      refuse: (effect) => last(effect.request)?.refused(effect.refusal),
      pass_on: (effect) => last(effect.request)?.passOn(),
      answer_command(effect) {
        commands.get(effect.id)?.(effect.result);
        commands.delete(effect.id);
      },
    },
    expect: (request, waiter) => {
      requests.set(request, waiter);
    },
    forget: (request) => {
      requests.delete(request);
    },
    countTokens: (request, instance, tell) => requests.get(request)?.countTokens(instance, tell),
    bodyHash: (request) => requests.get(request)?.bodyHash() ?? null,
    expectResult: (command) => new Promise((resolve) => commands.set(command, resolve)),
  };
}
