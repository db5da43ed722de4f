/** English of the Connect view, and the shape that every other language has. */

export const enConnect = {
  title: 'Connect',
  intro:
    'Every program at home uses one address. Llamastead wakes the model and moves requests when the GPU fails.',
  address: 'Address',
  copy: 'Copy',
  copied: 'Copied',
  copyOf: (what: string) => `Copy: ${what}`,
  modelName: 'Model name',
  key: 'API key',
  keyAny: 'any text; none is checked unless you set keys',
  keyNeeded: 'one of those under security.apiKeys in llamastead.yaml',
  broker: 'Home Assistant by MQTT',
  brokerHelp:
    'Shows what Llamastead does and lets automations act on it. Settings, Devices & services, Add integration, MQTT. Enter these.',
  brokerExternal:
    'Llamastead tells your own broker. Connect Home Assistant to the same broker; the device appears by itself.',
  brokerOff: 'MQTT is switched off in llamastead.yaml.',
  brokerDown: 'The broker does not answer now.',
  brokerLocal: 'This broker takes programs of this machine alone: mqtt.embedded.host says so.',
  brokerHost: 'Broker',
  brokerPort: 'Port',
  brokerUser: 'User name',
  brokerPassword: 'Password',
  passwordConfigured: 'the one under mqtt.embedded.password in llamastead.yaml.',
  passwordIn: (file: string) =>
    `it was made at the first start and stands in ${file} as brokerPassword. It is shown here where security.adminToken locks the page.`,
  showPassword: 'Show the password',
  hidePassword: 'Hide the password',
  openai: 'OpenAI SDK and compatible apps',
  openaiHelp: 'Set the base URL and a model name.',
  webui: 'Open WebUI',
  webuiHelp: 'Settings, Connections, OpenAI API: add this URL.',
  homeAssistant: 'Home Assistant by its llama.cpp integration',
  homeAssistantHelp: 'Settings, Devices & services, Add integration, llama.cpp. Enter this URL.',
  curl: 'Terminal',
  curlHelp: 'Paste this into a terminal.',
  greeting: 'Hello!',
  noModel: 'your-model',
};

export type ConnectText = typeof enConnect;
