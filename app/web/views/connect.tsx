import { useEffect } from 'preact/hooks';
import { originFor } from '../logic/connect.ts';
import { BrokerCard } from '../parts/broker-card.tsx';
import { CopyField } from '../parts/copy-field.tsx';
import { away, view } from '../state/app.ts';
import { askConnect, connectText, connectView, followLanguage } from '../state/connect.ts';

/** How programs at home reach the models: one card a client. */
export function Connect() {
  const words = connectText.value;
  const told = connectView.value;
  useEffect(followLanguage, []);
  useEffect(() => {
    if (!away.value) void askConnect();
  }, [away.value]);
  const origin = originFor(location.origin, told?.url ?? null);
  const models = view.value?.models ?? [];
  const model = models.find((one) => one.task === 'chat')?.name ?? models[0]?.name ?? words.noModel;
  const base = `${origin}/v1`;
  const keyed = told?.keyed === true;
  const key = keyed ? words.keyNeeded : words.keyAny;
  return (
    <div class="page">
      <h1>{words.title}</h1>
      <p class="lead muted">{words.intro}</p>
      <div class="connect-cards">
        <Client title={words.homeAssistant} help={words.homeAssistantHelp}>
          <CopyField label={words.address} value={base} />
          <CopyField label={words.modelName} value={model} />
          {keyed && <Key says={key} />}
        </Client>
        {told !== null && <BrokerCard broker={told.broker} origin={origin} />}
        <Client title={words.webui} help={words.webuiHelp}>
          <CopyField label={words.address} value={base} />
          <Key says={key} />
        </Client>
        <Client title={words.openai} help={words.openaiHelp}>
          <CopyField label={words.address} value={base} />
          <CopyField label={words.modelName} value={model} />
          <Key says={key} />
        </Client>
        <Client title={words.curl} help={words.curlHelp}>
          <CopyField label={words.curl} value={curl(base, model, words.greeting, keyed)} />
        </Client>
      </div>
    </div>
  );
}

function curl(base: string, model: string, greeting: string, keyed: boolean): string {
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: greeting }] });
  const key = keyed ? " -H 'authorization: Bearer KEY'" : '';
  return `curl ${base}/chat/completions${key} -H 'content-type: application/json' -d '${body}'`;
}

function Key({ says }: { says: string }) {
  return (
    <p class="muted">
      {connectText.value.key}: {says}
    </p>
  );
}

interface ClientProps {
  readonly title: string;
  readonly help: string;
  readonly children: preact.ComponentChildren;
}

function Client({ title, help, children }: ClientProps) {
  return (
    <section class="card client">
      <h2>{title}</h2>
      <p>{help}</p>
      {children}
    </section>
  );
}
