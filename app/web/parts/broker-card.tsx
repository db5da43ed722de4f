import { useSignal } from '@preact/signals';
import type { ConnectView } from '../../core/view.ts';
import { brokerHost, onlyLocal } from '../logic/connect.ts';
import { away } from '../state/app.ts';
import { askPassword, connectText, type Password } from '../state/connect.ts';
import { CopyField } from './copy-field.tsx';
import { ErrorText } from './error-text.tsx';

type Broker = NonNullable<ConnectView['broker']>;

/** What Home Assistant's MQTT integration is to be given. `origin`: where others reach this home. */
export function BrokerCard({ broker, origin }: { broker: Broker | null; origin: string }) {
  const words = connectText.value;
  return (
    <section class="card client" aria-labelledby="broker-title">
      <h2 id="broker-title">{words.broker}</h2>
      {broker === null ? <p>{words.brokerOff}</p> : <BrokerFields broker={broker} origin={origin} />}
    </section>
  );
}

function BrokerFields({ broker, origin }: { broker: Broker; origin: string }) {
  const words = connectText.value;
  const external = broker.kind === 'external';
  return (
    <>
      <p>{external ? words.brokerExternal : words.brokerHelp}</p>
      {!broker.up && <p class="card-alert">{words.brokerDown}</p>}
      {onlyLocal(broker) && <p class="card-alert">{words.brokerLocal}</p>}
      <CopyField label={words.brokerHost} value={brokerHost(broker, origin)} />
      <CopyField label={words.brokerPort} value={String(broker.port)} />
      {!external && broker.username !== null && (
        <CopyField label={words.brokerUser} value={broker.username} />
      )}
      {!external && <BrokerPassword broker={broker} />}
    </>
  );
}

/** Shown on wish to who has the admin token; to all others it is said where it stands. */
function BrokerPassword({ broker }: { broker: Broker }) {
  const words = connectText.value;
  const shown = useSignal<Password | null>(null);
  if (!broker.passwordShown) {
    return (
      <p>
        <strong>{words.brokerPassword}:</strong>{' '}
        {broker.passwordIn === null ? words.passwordConfigured : words.passwordIn(broker.passwordIn)}
      </p>
    );
  }
  const known = shown.value;
  return (
    <div class="reveal">
      {known?.ok === true && <CopyField label={words.brokerPassword} value={known.password} />}
      {known?.ok === false && (
        <p class="card-alert" role="alert">
          <ErrorText error={known.error} />
        </p>
      )}
      <button
        type="button"
        class="button"
        aria-disabled={away.value}
        onClick={async () => {
          if (known?.ok === true) shown.value = null;
          else if (!away.value) shown.value = await askPassword();
        }}
      >
        {known?.ok === true ? words.hidePassword : words.showPassword}
      </button>
    </div>
  );
}
