import type { GpuView } from '../../core/view.ts';
import { type Bar, gpuBar, type Part, ramBar } from '../logic/memory-bar.ts';
import { format, text, view } from '../state/app.ts';

/** RAM, and each GPU with memory of its own. */
export function Memory() {
  const seen = view.value;
  if (seen === null) return null;
  const words = text.value.memory;
  const shared = seen.gpus.filter((gpu) => gpu.memory === 'shared');
  return (
    <section class="card memory" aria-labelledby="memory-title">
      <h2 id="memory-title" class="visually-hidden">
        {text.value.home.memory}
      </h2>
      {seen.memory === null ? (
        <p class="muted">{words.unmeasured}</p>
      ) : (
        <MemoryBar
          title={words.ram}
          bar={ramBar(seen.memory, seen.instances)}
          low={seen.memory.available < seen.memory.reserve}
          keptLabel={words.kept}
        />
      )}
      {shared.map((gpu) => (
        <p key={gpu.name} class="muted memory-note">
          {words.shared(gpu.name)}
        </p>
      ))}
      {seen.gpus
        .filter((gpu) => gpu.memory === 'dedicated')
        .map((gpu) => (
          <GpuMemory key={gpu.name} gpu={gpu} />
        ))}
    </section>
  );
}

function GpuMemory({ gpu }: { gpu: GpuView }) {
  const words = text.value.memory;
  const bar = gpuBar(gpu, view.value?.instances ?? []);
  if (bar !== null)
    return (
      <>
        <MemoryBar title={words.gpu(gpu.name)} bar={bar} low={false} keptLabel={words.headroom} />
        {gpu.used === null && <p class="muted memory-note">{words.unread}</p>}
      </>
    );
  return (
    <div class="bar-block">
      <h3>{words.gpu(gpu.name)}</h3>
      <p class="muted">{words.unmeasured}</p>
    </div>
  );
}

interface BarProps {
  readonly title: string;
  readonly bar: Bar;
  readonly low: boolean;
  readonly keptLabel: string;
}

function MemoryBar({ title, bar, low, keptLabel }: BarProps) {
  const words = text.value.memory;
  return (
    <div class="bar-block">
      <div class="bar-head">
        <h3>{title}</h3>
        <span class="muted">{words.total(format.value.memory(bar.total))}</span>
      </div>
      <div class="bar" aria-hidden="true">
        {bar.parts.map((part) => (
          <span
            key={partKey(part)}
            class={`bar-part part-${part.kind}`}
            style={{ flexGrow: (part.bytes / bar.total) * 1000 }}
            data-bytes={part.bytes}
          >
            {part.number !== null && bar.parts.filter((p) => p.kind === 'model').length > 1 && (
              <b>{part.number}</b>
            )}
          </span>
        ))}
      </div>
      <ul class="legend">
        {bar.parts.map((part) => (
          <li key={partKey(part)}>
            <span class={`swatch part-${part.kind}`} aria-hidden="true">
              {part.number}
            </span>
            <span class="legend-label">{label(part, bar, keptLabel)}</span>
            <span class="legend-value">{format.value.memory(part.bytes)}</span>
          </li>
        ))}
      </ul>
      {low && <p class="memory-low">{words.low}</p>}
    </div>
  );
}

const partKey = (part: Part) => `${part.kind} ${part.number ?? ''}`;

function label(part: Part, bar: Bar, keptLabel: string): string {
  const words = text.value.memory;
  switch (part.kind) {
    case 'system':
      return bar.servicesUnknown ? words.systemAndServices : words.system;
    case 'services':
      return words.services;
    case 'model':
      return part.model ?? words.models;
    case 'free':
      return words.free;
    case 'kept':
      return keptLabel;
  }
}
