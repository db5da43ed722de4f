import type { DrillVerdict } from '../../core/drill.ts';
import type { DrillReport, DrillRound } from '../../core/drill-report.ts';
import type { Reason } from '../../core/types.ts';
import type { EventTone } from '../logic/events.ts';
import { format, text } from '../state/app.ts';
import { drillText } from '../state/drills.ts';
import { EventIcon } from './icon.tsx';

const TONES: Readonly<Record<DrillVerdict, EventTone>> = {
  passed: 'good',
  failed: 'bad',
  not_applicable: 'plain',
};

/** One report: the verdict in a line, its values behind it. */
export function DrillReportLine({ report }: { report: DrillReport }) {
  const words = drillText.value;
  const { others, memoryLow, measured } = report;
  const when = `${format.value.day(report.startedAt)} ${format.value.clock(report.startedAt)}`;
  return (
    <li class={`event event-${TONES[report.verdict]}`}>
      <EventIcon tone={TONES[report.verdict]} />
      <div class="event-body">
        <p>
          <strong>{words.verdicts[report.verdict]}</strong> · {words.names[report.scenario]} · {report.model}
        </p>
        <p class="muted">
          {when} · {format.value.duration(report.seconds)}
        </p>
        <details>
          <summary>{text.value.events.details}</summary>
          {report.rounds.map((round) => (
            <Round key={String(round.stream)} round={round} />
          ))}
          {report.rounds.length > 0 && (
            <Values
              values={[
                [
                  words.others,
                  others.untouched
                    ? words.untouched(others.compared)
                    : words.changed(others.changed.map(({ name }) => name).join(', ')),
                ],
                ...(memoryLow === null ? [] : [[words.memoryLow, format.value.memory(memoryLow)] as const]),
              ]}
            />
          )}
          <h3>{words.why}</h3>
          <p lang="en">{report.why}</p>
          {report.rounds.length > 0 && (
            <details>
              <summary>{words.measured}</summary>
              <ul lang="en">
                {Object.entries(measured).map(([name, how]) => (
                  <li key={name}>
                    {name}: {how}
                  </li>
                ))}
              </ul>
            </details>
          )}
        </details>
      </div>
    </li>
  );
}

function Round({ round }: { round: DrillRound }) {
  const words = drillText.value;
  return (
    <>
      <h3>
        {round.stream ? words.stream : words.whole}: {words.verdicts[round.verdict]}
      </h3>
      <Values values={valuesOf(round)} />
    </>
  );
}

function Values({ values }: { values: readonly (readonly [string, string])[] }) {
  return (
    <dl class="drill-values">
      {values.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** From outside of the model means here: by the drill. */
function causeOf(reason: Reason): string {
  return reason === 'killed_outside' ? drillText.value.killed : text.value.reasons[reason];
}

/** What has a value, in the order in which it happened. */
function valuesOf(round: DrillRound): [string, string][] {
  const words = drillText.value;
  const { places } = text.value;
  const seconds = (name: string, value: number | null): [string, string][] =>
    value === null ? [] : [[name, format.value.duration(value)]];
  const kept = [
    ...(round.complete ? [words.keptAnswer] : []),
    ...(round.connectionKept ? [words.keptConnection] : []),
    ...(round.idKept ? [words.keptId] : []),
  ];
  return [
    ...seconds(words.firstFailure, round.firstFailure),
    ...(round.reason === null ? [] : [[words.reason, causeOf(round.reason)] as [string, string]]),
    ...(round.from === null || round.to === null
      ? []
      : [[words.moved, words.fromTo(places[round.from], places[round.to])] as [string, string]]),
    ...(round.cpuStart === 0
      ? [[words.cpuStart, words.ranAlready] as [string, string]]
      : seconds(words.cpuStart, round.cpuStart)),
    ...seconds(words.firstToken, round.firstToken),
    ...seconds(words.answered, round.answered),
    ...(round.attempts === null
      ? []
      : [[words.attempts, format.value.number(round.attempts)] as [string, string]]),
    ...(kept.length === 0 ? [] : [[words.kept, kept.join(', ')] as [string, string]]),
    ...seconds(words.gpuBack, round.gpuBack),
  ];
}
