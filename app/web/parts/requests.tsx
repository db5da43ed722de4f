import type { RequestView } from '../../core/view.ts';
import { format, serverNow, text, view } from '../state/app.ts';
import { Icon } from './icon.tsx';

/** Waiting and running requests, each with its phase. */
export function Requests() {
  const requests = view.value?.requests ?? [];
  const words = text.value;
  return (
    <section class="card requests" aria-labelledby="requests-title">
      <h2 id="requests-title">{words.home.requests}</h2>
      {requests.length === 0 ? (
        <p class="muted">{words.home.noRequests}</p>
      ) : (
        <ul class="rows">
          {requests.map((request) => (
            <RequestRow key={request.id} request={request} />
          ))}
        </ul>
      )}
    </section>
  );
}

function RequestRow({ request }: { request: RequestView }) {
  const words = text.value.request;
  const seconds = Math.max(0, (serverNow.value - Date.parse(request.since)) / 1000);
  return (
    <li class="row">
      <Icon shape={request.phase === 'running' ? 'speech' : 'ring'} />
      <div class="row-main">
        <span class="row-title">{request.model}</span>
        <span>{phaseText(request)}</span>
        {request.attempts > 1 && <span class="chip">{words.attempt(request.attempts)}</span>}
      </div>
      <span class="row-aside">{words.for(format.value.ticking(seconds))}</span>
      <span class="row-id mono" title={words.id}>
        {request.id}
      </span>
    </li>
  );
}

export function phaseText(request: RequestView): string {
  const words = text.value.request;
  if (request.phase === 'queued') return words.queued(request.position);
  if (request.phase === 'loading') return words.loading;
  return request.placement === null ? words.runningAnywhere : words.running(request.placement);
}
