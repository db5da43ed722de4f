import type { Placement } from '../../core/types.ts';
import { type Answer, rateOf } from '../logic/chat.ts';
import { format, text, view } from '../state/app.ts';
import type { Turn } from '../state/chat.ts';
import { ErrorText } from './error-text.tsx';
import { Icon } from './icon.tsx';
import { phaseText } from './requests.tsx';

export function ChatTurn({ turn }: { turn: Turn }) {
  const words = text.value.chat;
  const { answer } = turn;
  return (
    <div class="turn">
      <p class="turn-question">
        <span class="visually-hidden">{words.you}: </span>
        {turn.question}
      </p>
      <div class="turn-answer">
        {answer.thinking !== '' && (
          <details>
            <summary>{words.thinking}</summary>
            <p class="turn-text muted">{answer.thinking}</p>
          </details>
        )}
        {answer.text !== '' && <p class="turn-text">{answer.text}</p>}
        {answer.state === 'failed' && <Failure answer={answer} />}
        <TurnFooter turn={turn} />
      </div>
    </div>
  );
}

function Failure({ answer }: { answer: Answer }) {
  const words = text.value.chat;
  const said = answer.error !== null && answer.text === '' ? words.failed : words.cut;
  return (
    <p class="card-alert">
      {said} {answer.error !== null && <ErrorText error={answer.error} />}
    </p>
  );
}

/** Where it runs or waits, and how fast it was. */
function TurnFooter({ turn }: { turn: Turn }) {
  const words = text.value.chat;
  const { answer } = turn;
  if (
    answer.text === '' &&
    answer.thinking === '' &&
    (answer.state === 'sending' || answer.state === 'streaming')
  ) {
    return (
      <p class="turn-meta" role="status">
        <Icon shape="arc" spin />
        {waitingText(turn)}
      </p>
    );
  }
  const parts = [
    answer.placement === null ? null : words.answeredOn(placeName(answer.placement)),
    rateText(answer),
    answer.firstAt === null
      ? null
      : words.first(format.value.duration((answer.firstAt - answer.sentAt) / 1000)),
    answer.attempt > 1 ? words.moved : null,
    answer.state === 'stopped' ? words.stopped : null,
  ].filter((part) => part !== null);
  return parts.length === 0 ? null : <p class="turn-meta">{parts.join(' · ')}</p>;
}

function rateText(answer: Answer): string | null {
  const rate = rateOf(answer);
  return rate === null ? null : text.value.chat.rate(format.value.decimal(rate));
}

/** The server's state knows the phase by the request's id. */
function waitingText(turn: Turn): string {
  const request = view.value?.requests.find((one) => one.id === turn.requestId);
  if (request === undefined) return text.value.chat.sending;
  return request.phase === 'running' ? text.value.chat.waiting : phaseText(request);
}

function placeName(placement: string): string {
  const places: Readonly<Record<string, string>> = text.value.places satisfies Record<
    Placement | 'none',
    string
  >;
  return places[placement] ?? placement;
}
