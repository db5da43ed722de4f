/** Korean of the Connect view. */
import type { ConnectText } from './en-connect.ts';

export const koConnect: ConnectText = {
  title: '연결',
  intro:
    '집 안의 모든 프로그램이 주소 하나를 씁니다. Llamastead가 모델을 깨우고, GPU에 문제가 생기면 요청을 옮깁니다.',
  address: '주소',
  copy: '복사',
  copied: '복사됨',
  copyOf: (what) => `복사: ${what}`,
  modelName: '모델 이름',
  key: 'API 키',
  keyAny: '아무 글자나 넣어 주세요. 키를 설정하지 않으면 확인하지 않습니다',
  keyNeeded: 'llamastead.yaml의 security.apiKeys에 있는 키 하나를 넣어 주세요',
  broker: 'Home Assistant, MQTT로 연결',
  brokerHelp:
    'Llamastead가 하는 일을 보여 주고, 자동화로 제어할 수 있게 합니다. 설정, 기기 및 서비스, 통합 구성요소 추가하기에서 MQTT를 고르고 아래 값을 입력해 주세요.',
  brokerExternal:
    'Llamastead는 지금 쓰시는 브로커에 알립니다. Home Assistant를 같은 브로커에 연결하면 기기가 자동으로 나타납니다.',
  brokerOff: 'llamastead.yaml에서 MQTT를 꺼 두었습니다.',
  brokerDown: '지금은 브로커가 응답하지 않습니다.',
  brokerLocal: 'mqtt.embedded.host 설정 때문에 이 기기의 프로그램만 이 브로커에 연결할 수 있습니다.',
  brokerHost: '브로커',
  brokerPort: '포트',
  brokerUser: '사용자 이름',
  brokerPassword: '비밀번호',
  passwordConfigured: 'llamastead.yaml의 mqtt.embedded.password에 있습니다.',
  passwordIn: (file) =>
    `처음 시작할 때 만들어졌으며 ${file} 파일에 brokerPassword로 적혀 있습니다. security.adminToken으로 페이지를 잠그면 여기에서 볼 수 있습니다.`,
  showPassword: '비밀번호 보기',
  hidePassword: '비밀번호 숨기기',
  openai: 'OpenAI SDK와 호환 앱',
  openaiHelp: '기본 URL과 모델 이름을 설정해 주세요.',
  webui: 'Open WebUI',
  webuiHelp: '설정, 연결, OpenAI API에 이 URL을 추가해 주세요.',
  homeAssistant: 'Home Assistant, llama.cpp 통합 구성요소로 연결',
  homeAssistantHelp:
    '설정, 기기 및 서비스, 통합 구성요소 추가하기에서 llama.cpp를 고르고 이 URL을 입력해 주세요.',
  curl: '터미널',
  curlHelp: '터미널에 붙여 넣어 주세요.',
  greeting: '안녕하세요!',
  noModel: '모델-이름',
};
