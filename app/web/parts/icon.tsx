import type { CardState } from '../logic/card.ts';
import type { EventTone } from '../logic/events.ts';
import type { Tone } from '../logic/headline.ts';

/**
 * Shapes, drawn on 20 x 20 in the text's colour. Each state has a shape of its own, so that none is told by
 * colour alone; the word stands beside it.
 */
const SHAPES = {
  disc: <circle cx="10" cy="10" r="7" fill="currentColor" />,
  ring: <circle cx="10" cy="10" r="6" fill="none" stroke="currentColor" stroke-width="2.5" />,
  triangle: (
    <path
      d="M10 2.6 18.4 17H1.6Z"
      fill="currentColor"
      stroke="currentColor"
      stroke-width="1.4"
      stroke-linejoin="round"
    />
  ),
  octagon: <path d="M6.7 2h6.6L18 6.7v6.6L13.3 18H6.7L2 13.3V6.7Z" fill="currentColor" />,
  moon: <path d="M16.5 12.4A7.2 7.2 0 0 1 7.6 3.5a7.2 7.2 0 1 0 8.9 8.9Z" fill="currentColor" />,
  arc: (
    <path
      d="M10 3a7 7 0 1 1-7 7"
      fill="none"
      stroke="currentColor"
      stroke-width="2.5"
      stroke-linecap="round"
    />
  ),
  speech: (
    <path
      d="M4.5 3h11A1.5 1.5 0 0 1 17 4.5v7.9a1.5 1.5 0 0 1-1.5 1.5H9.2L5.4 17v-3.1h-.9A1.5 1.5 0 0 1 3 12.4V4.5A1.5 1.5 0 0 1 4.5 3Z"
      fill="currentColor"
    />
  ),
  bar: <rect x="3" y="8.4" width="14" height="3.2" rx="1.6" fill="currentColor" />,
  dot: <circle cx="10" cy="10" r="3.5" fill="currentColor" />,
  check: (
    <path
      d="m4 10.5 4 4 8-9"
      fill="none"
      stroke="currentColor"
      stroke-width="2.6"
      stroke-linecap="round"
      stroke-linejoin="round"
    />
  ),
  home: (
    <path
      d="M3 9.2 10 3l7 6.2M5 8v8.5h10V8M8.3 16.5V12h3.4v4.5"
      fill="none"
      stroke="currentColor"
      stroke-width="1.7"
      stroke-linejoin="round"
      stroke-linecap="round"
    />
  ),
  list: (
    <path
      d="M3.5 5h.01M3.5 10h.01M3.5 15h.01M7.5 5h9M7.5 10h9M7.5 15h9"
      fill="none"
      stroke="currentColor"
      stroke-width="2"
      stroke-linecap="round"
    />
  ),
  plug: (
    <path
      d="M7 2.5V7m6-4.500V7M4.500 7h11v2.500a5.500 5.500 0 0 1-11 0Zm5.500 8v3"
      fill="none"
      stroke="currentColor"
      stroke-width="1.7"
      stroke-linejoin="round"
      stroke-linecap="round"
    />
  ),
  pulse: (
    <path
      d="M2.500 10.500h3.700L8.300 5l3.400 10 2.100-4.500h3.700"
      fill="none"
      stroke="currentColor"
      stroke-width="1.7"
      stroke-linejoin="round"
      stroke-linecap="round"
    />
  ),
} as const;

export type Shape = keyof typeof SHAPES;

export function Icon({ shape, spin = false }: { shape: Shape; spin?: boolean }) {
  return (
    <svg
      class={spin ? 'icon spin' : 'icon'}
      viewBox="0 0 20 20"
      width="20"
      height="20"
      aria-hidden="true"
      focusable="false"
    >
      {SHAPES[shape]}
    </svg>
  );
}

const STATE_SHAPES: Readonly<Record<CardState, Shape>> = {
  asleep: 'moon',
  starting: 'arc',
  ready: 'disc',
  answering: 'speech',
  fallback: 'triangle',
  finishing: 'ring',
  failed: 'octagon',
  off: 'bar',
};

export function StateIcon({ state }: { state: CardState }) {
  return <Icon shape={STATE_SHAPES[state]} spin={state === 'starting'} />;
}

const TONE_SHAPES: Readonly<Record<Tone, Shape>> = {
  well: 'check',
  busy: 'disc',
  care: 'triangle',
  bad: 'octagon',
};

export function ToneIcon({ tone }: { tone: Tone }) {
  return <Icon shape={TONE_SHAPES[tone]} />;
}

const EVENT_SHAPES: Readonly<Record<EventTone, Shape>> = {
  good: 'disc',
  care: 'triangle',
  bad: 'octagon',
  plain: 'dot',
};

export function EventIcon({ tone }: { tone: EventTone }) {
  return <Icon shape={EVENT_SHAPES[tone]} />;
}
