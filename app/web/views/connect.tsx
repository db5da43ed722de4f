import { CopyField } from '../parts/copy-field.tsx';
import { text, view } from '../state/app.ts';

/** How programs at home reach the models: one card a client. */
export function Connect() {
  const words = text.value.connect;
  const origin = location.origin;
  const models = view.value?.models ?? [];
  const model = models.find((one) => one.task === 'chat')?.name ?? models[0]?.name ?? words.noModel;
  const base = `${origin}/v1`;
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: words.greeting }] });
  return (
    <div class="page">
      <h1>{words.title}</h1>
      <p class="lead muted">{words.intro}</p>
      <div class="connect-cards">
        <Client title={words.homeAssistant} help={words.homeAssistantHelp}>
          <CopyField label={words.address} value={base} />
          <CopyField label={words.modelName} value={model} />
        </Client>
        <Client title={words.webui} help={words.webuiHelp}>
          <CopyField label={words.address} value={base} />
          <p class="muted">
            {words.key}: {words.keyAny}
          </p>
        </Client>
        <Client title={words.openai} help={words.openaiHelp}>
          <CopyField label={words.address} value={base} />
          <CopyField label={words.modelName} value={model} />
        </Client>
        <Client title={words.curl} help={words.curlHelp}>
          <CopyField
            label={words.curl}
            value={`curl ${base}/chat/completions -H 'content-type: application/json' -d '${body}'`}
          />
        </Client>
      </div>
    </div>
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
