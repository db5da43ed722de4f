import { useEffect, useState } from 'preact/hooks';
import { type DrillScenario, RUN_SCENARIOS } from '../../core/drill.ts';
import { away, format, serverNow, view } from '../state/app.ts';
import {
  asking,
  drillError,
  drillText,
  followLanguage,
  reports,
  runDrill,
  watchReports,
} from '../state/drills.ts';
import { Confirm } from './confirm.tsx';
import { DrillReportLine } from './drill-report.tsx';
import { ErrorText } from './error-text.tsx';

const SHOWN = 5;

/** Fails a model on purpose, after asking, and shows the last reports. */
export function Drills() {
  const words = drillText.value;
  const models = (view.value?.models ?? []).filter(({ task, mode }) => task === 'chat' && mode !== 'off');
  useEffect(followLanguage, []);
  useEffect(watchReports, []);
  return (
    <section class="card drills" aria-labelledby="drills-title">
      <h2 id="drills-title">{words.title}</h2>
      <p class="muted">{words.intro}</p>
      {models.length === 0 ? <p>{words.noModel}</p> : <DrillForm models={models.map(({ name }) => name)} />}
      <p role="status">{status()}</p>
      {drillError.value !== null && (
        <p role="alert" class="drill-error">
          <ErrorText error={drillError.value} />
        </p>
      )}
      <Reports />
      <p class="muted">
        {words.outside} <code>llamastead drill controller-restart</code>
      </p>
    </section>
  );
}

function DrillForm({ models }: { models: readonly string[] }) {
  const words = drillText.value;
  const [scenario, setScenario] = useState<DrillScenario>('kill');
  const [chosen, setModel] = useState('');
  const [confirming, setConfirming] = useState(false);
  const model = models.includes(chosen) ? chosen : (models[0] ?? '');
  const off = asking.value || away.value || view.value?.drill != null;
  return (
    <div class="drill-form">
      <label class="field">
        <span>{words.scenario}</span>
        <select
          value={scenario}
          onChange={(event) => setScenario(event.currentTarget.value as DrillScenario)}
        >
          {RUN_SCENARIOS.map((name) => (
            <option key={name} value={name}>
              {words.names[name]}
            </option>
          ))}
        </select>
      </label>
      <label class="field">
        <span>{words.model}</span>
        <select value={model} onChange={(event) => setModel(event.currentTarget.value)}>
          {models.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
      <button
        type="button"
        class="button"
        aria-disabled={off}
        onClick={() => {
          if (!off) setConfirming(true);
        }}
      >
        {words.run}
      </button>
      {confirming && (
        <Confirm
          title={words.confirmTitle(model)}
          says={`${words.stops[scenario](model)} ${words.waits(model)}`}
          action={words.run}
          onYes={() => {
            setConfirming(false);
            void runDrill(scenario, model);
          }}
          onNo={() => setConfirming(false)}
        />
      )}
    </div>
  );
}

/** What runs now, in words; nothing: no drill does. */
function status(): string {
  const words = drillText.value;
  const drill = view.value?.drill ?? null;
  if (drill === null) return asking.value ? words.starting : '';
  const seconds = Math.max(0, (serverNow.value - Date.parse(drill.since)) / 1000);
  return words.running(words.names[drill.scenario], drill.model, format.value.ticking(seconds));
}

function Reports() {
  const known = reports.value;
  if (known === null) return null;
  if (known.length === 0) return <p class="muted">{drillText.value.none}</p>;
  return (
    <ol class="event-list">
      {known.slice(0, SHOWN).map((report) => (
        <DrillReportLine key={report.id} report={report} />
      ))}
    </ol>
  );
}
