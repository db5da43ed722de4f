import type { ComponentChildren } from 'preact';
import type { ModelView } from '../../core/view.ts';
import type { Step, StepState, Story } from '../logic/outage.ts';
import { format, serverNow, text } from '../state/app.ts';
import { Icon, type Shape } from './icon.tsx';

const SHAPES: Readonly<Record<StepState, Shape>> = { done: 'check', now: 'arc', next: 'ring' };

/** A failover as it happens, and for ten minutes after its end. */
export function OutageSteps({ model, story }: { model: ModelView; story: Story }) {
  const tone = story.lost > 0 ? 'outage-bad' : story.over ? 'outage-over' : 'outage-care';
  return (
    <section class={`outage ${tone}`} aria-label={title(model, story)}>
      <p class="outage-title">{title(model, story)}</p>
      <ol class="steps">
        {story.steps.map((step) => (
          <li key={step.kind} class={`step step-${step.state}`}>
            <Icon shape={step.kind === 'lost' ? 'octagon' : SHAPES[step.state]} spin={step.state === 'now'} />
            <StepLine step={step} />
            <span class="visually-hidden">({text.value.outage[step.state]})</span>
          </li>
        ))}
      </ol>
    </section>
  );
}

function title(model: ModelView, story: Story): string {
  const words = text.value.outage;
  if (story.lost > 0) return words.titleLost(model.name);
  if (story.over) return words.titleBack(model.name, story.placement);
  return story.continues ? words.title(model.name) : words.titleOut(model.name, story.placement);
}

function StepLine({ step }: { step: Step }) {
  const words = text.value.outage;
  const duration = format.value;
  switch (step.kind) {
    case 'stopped':
      return <Line>{words.stopped(step.placement, text.value.reasons[step.reason])}</Line>;
    case 'cpu':
      return (
        <Line
          aside={
            step.seconds === null
              ? null
              : step.state === 'done'
                ? words.after(duration.duration(step.seconds))
                : duration.ticking(step.seconds)
          }
        >
          {step.state === 'done' ? words.cpuStarted : words.cpuStarting}
          {step.fraction !== null && <progress value={step.fraction} aria-label={words.cpuStarting} />}
        </Line>
      );
    case 'moved':
      return <Line>{words.moved(step.requests)}</Line>;
    case 'lost':
      return <Line>{words.lost(step.requests)}</Line>;
    case 'answering':
      return <Line>{step.state === 'done' ? words.answered : words.answering}</Line>;
    case 'retry':
      return <RetryLine step={step} />;
    case 'back':
      return (
        <Line aside={step.seconds === null ? null : words.after(duration.duration(step.seconds))}>
          {words.back(step.placement)}
        </Line>
      );
  }
}

function RetryLine({ step }: { step: Extract<Step, { kind: 'retry' }> }) {
  const words = text.value.outage;
  if (step.probing || step.at === null) return <Line>{words.probing(step.placement)}</Line>;
  const left = (Date.parse(step.at) - serverNow.value) / 1000;
  return (
    <Line aside={left > 0 ? words.in(format.value.ticking(left)) : null}>
      {words.retry(step.placement, format.value.clock(step.at))}
    </Line>
  );
}

function Line({ children, aside = null }: { children: ComponentChildren; aside?: string | null }) {
  return (
    <span class="step-line">
      <span class="step-text">{children}</span>
      {aside !== null && <span class="step-aside">{aside}</span>}
    </span>
  );
}
