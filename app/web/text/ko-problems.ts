/** Problems in Korean. */
import type { ProblemPhrases } from './problems.ts';

const NEW_FILE = '파일을 다시 내려받아 주세요.';

export const koProblems: ProblemPhrases = {
  docker_failed: () => ({
    said: 'Docker를 사용할 수 없습니다.',
    fix: 'Docker 서비스의 로그를 확인해 주세요(journalctl -u docker).',
  }),
  docker_not_answering: () => ({
    said: 'Docker가 응답하지 않습니다.',
    fix: '호스트의 메모리가 부족하거나 디스크가 멈췄는지 확인해 주세요. 계속되면 Docker를 다시 시작해 주세요.',
  }),
  docker_not_running: () => ({
    said: 'Docker 소켓은 있지만 Docker가 응답하지 않습니다.',
    fix: '호스트에서 Docker를 시작해 주세요(systemctl start docker). Docker를 다시 설치했다면 Llamastead도 다시 시작해 주세요.',
  }),
  docker_socket_forbidden: (p) => ({
    said: `Llamastead에 Docker 소켓(${p.of('socket')})을 쓸 권한이 없습니다.`,
    fix: p.has('group')
      ? `Llamastead를 root로 실행하거나(compose 파일에서 user: 삭제), 소켓의 그룹을 추가해 주세요: group_add: ["${p.of('group')}"]`
      : 'Llamastead를 root로 실행하거나(compose 파일에서 user: 삭제), 그 사용자에게 소켓 권한을 주세요.',
  }),
  docker_socket_missing: (p) => ({
    said: `Docker 소켓(${p.of('socket')})이 없습니다.`,
    fix: 'Llamastead 컨테이너에 /var/run/docker.sock을 마운트해 주세요.',
  }),
  docker_too_old: () => ({
    said: 'Docker가 너무 오래됐습니다.',
    fix: 'Docker를 20.10 이상으로 업데이트해 주세요.',
  }),
  leftovers_found: (p) => ({
    said: `이름이 ${p.of('home')}인 다른 Llamastead가 남긴 것이 있습니다: ${p.of('names')}. Llamastead는 이것을 건드리지 않습니다.`,
    fix: `필요 없다면 지워 주세요: ${p.of('commands')}`,
  }),
  second_controller: () => ({
    said: '이름이 같은 Llamastead가 이미 실행 중이어서 이 Docker를 쓰지 않습니다.',
    fix: '둘 중 하나를 멈추거나, mqtt.instance에 다른 이름을 적어 주세요.',
  }),
  gpu_driver_missing: (p) => ({
    said: `${p.of('gpu')} GPU의 드라이버가 로드되지 않았습니다.`,
    fix: '호스트에 GPU 드라이버를 설치하거나 로드한 뒤 호스트를 다시 시작해 주세요.',
  }),
  gpu_not_used: (p) => ({
    said: `${p.of('gpu')} GPU를 찾았지만 쓰지 않습니다.`,
    fix: '쓰려면 llamastead.yaml의 gpus에 이 GPU를 적고, 쓰지 않으려면 gpus: []를 적어 주세요. 적을 내용은 자세히에 있습니다.',
  }),
  holder_failed: (p) => ({
    said: `모델용 네트워크를 만들지 못했습니다: ${p.of('detail')}`,
    fix: 'Docker가 네트워크와 컨테이너를 만들 수 있는지 확인해 주세요(docker network ls, docker system df).',
  }),
  image_missing: (p) => ({
    said: `${p.of('image')} 이미지가 없습니다.`,
    fix: `이미지를 내려받아 주세요: docker pull ${p.of('image')}`,
  }),
  model_damaged: (p) => ({ said: `"${p.of('file')}" 파일이 손상됐습니다: ${p.of('what')}`, fix: NEW_FILE }),
  model_missing: (p) => ({
    said: `모델 파일 "${p.of('file')}"이 모델 폴더에 없습니다.`,
    fix: '파일을 모델 폴더에 넣거나 설정에서 이름을 고쳐 주세요.',
  }),
  model_not_gguf: (p) => ({
    said: `"${p.of('file')}" 파일은 GGUF 파일이 아닙니다.`,
    fix: 'GGUF 형식의 모델을 넣어 주세요. 웹 페이지를 저장했다면 파일 자체를 내려받아 주세요.',
  }),
  model_not_readable: (p) => ({
    said: `모델 파일 "${p.of('file')}"을 읽을 수 없습니다: ${p.of('why')}`,
    fix: '파일 권한과 디스크 상태를 확인해 주세요.',
  }),
  model_outside: (p) => ({
    said: `"${p.of('file')}" 파일은 모델 폴더 밖을 가리킵니다.`,
    fix: '파일을 모델 폴더 안으로 복사해 주세요. 폴더 밖을 가리키는 링크는 쓰지 않습니다.',
  }),
  model_truncated: (p) => ({
    said: `"${p.of('file')}" 파일이 중간에서 끊겼습니다.`,
    fix: `${NEW_FILE} 아직 내려받는 중이라면 끝날 때 자동으로 해결됩니다.`,
  }),
  models_folder_empty: (p) => ({
    said: `모델 폴더 ${p.of('folder')}에 모델 파일(.gguf)이 없습니다.`,
    fix: 'GGUF 파일을 넣어 주세요. 전에 모델이 있었다면 디스크가 마운트되지 않았을 수 있으니 마운트해 주세요. 1분 안에 찾지 못하면 Llamastead 컨테이너를 다시 시작해 주세요.',
  }),
  models_folder_missing: (p) => ({
    said: `모델 폴더 ${p.of('folder')}가 없습니다.`,
    fix: '모델이 있는 디스크를 마운트하거나 paths.models를 설정해 주세요. 그다음에는 자동으로 찾습니다.',
  }),
  models_folder_unreadable: (p) => ({
    said: `모델 폴더 ${p.of('folder')}를 읽을 수 없습니다: ${p.of('why')}`,
    fix: 'Llamastead에 폴더의 읽기 권한을 주세요.',
  }),
  models_not_shared: () => ({
    said: 'Docker가 모델 폴더를 볼 수 없습니다.',
    fix: 'Llamastead 컨테이너의 모델 폴더에 호스트 폴더나 볼륨을 마운트해 주세요.',
  }),
  poison: (p) => ({
    said: `${p.model} 모델을 두 번 멈추게 한 요청 ${p.of('count')}개를 10분 동안 받지 않습니다.`,
    fix: '이벤트에서 해당 요청과 마지막 로그를 확인할 수 있습니다. 요청을 줄이거나 바꾸고, 또는 llama.cpp 이미지를 업데이트해 주세요.',
  }),
  reduced: (p) => ({
    said: `${p.model} 모델이 답하는 중에 GPU 메모리가 부족해져, GPU에서 동시 요청 ${p.of('parallel')}개, 요청당 ${p.of('context')} 토큰으로 줄여 실행합니다(설정값: ${p.of('configuredParallel')}개, ${p.of('configuredContext')} 토큰).`,
    fix: '설정값으로 되돌리려면 모델을 다시 시작해 주세요. 다시 일어나면 parallel이나 context를 낮추거나, KV 캐시를 q8_0으로 바꾸거나, GPU 메모리를 비워 주세요.',
  }),
  gpu_memory_held: (p) => ({
    said: `${p.model} 모델을 ${p.of('gpu')} GPU에서 내렸지만 5초가 지나도 메모리가 돌아오지 않았습니다.`,
    fix: '다른 프로그램이 쓰고 있을 수 있습니다. GPU 메모리 부족으로 로드가 실패하면 그 프로그램을 끝내거나 호스트를 다시 시작해 주세요.',
  }),
  gpu_memory_unread: (p) => ({
    said: `NVIDIA 그래픽 카드의 메모리를 읽지 못합니다: ${p.of('detail')}`,
    fix: `이렇게 확인해 보세요: docker run --rm --gpus all --entrypoint nvidia-smi ${p.of('image')}. Docker에 NVIDIA 드라이버가 없다고 나오면 호스트에 NVIDIA Container Toolkit을 설치하고 Docker를 다시 시작해 주세요.`,
  }),
  no_placement: (p) => ({
    said: `${p.model} 모델은 이 기기에서 설정된 위치에 실행할 수 없습니다.`,
    fix: '모델의 placements를 바꾸거나 장치를 추가해 주세요.',
  }),
  broker_failed: () => ({
    said: '내장 MQTT 브로커를 실행하지 못했습니다.',
    fix: 'mqtt.embedded.port에 다른 포트를 설정하거나 mqtt.url에 사용하는 브로커를 적어 주세요.',
  }),
  config_invalid: () => ({
    said: '바뀐 설정 파일에 잘못된 곳이 있어 쓰지 않습니다. 이전 설정으로 계속 실행합니다.',
    fix: '파일을 고쳐 주세요. 고치면 자동으로 다시 읽습니다.',
  }),
  context_exceeded: (p) => ({
    said: `${p.model} 모델이 받을 수 있는 길이(${p.of('context')} 토큰)보다 긴 요청(${p.of('tokens')} 토큰)이 있었습니다.`,
    fix: p.has('whole')
      ? `GPU 메모리가 부족했던 뒤로 줄여 실행하고 있습니다. 모델을 다시 시작하면 설정값(${p.of('whole')} 토큰)으로 돌아갑니다. 요청을 줄여도 됩니다.`
      : `models.${p.model}.context를 ${p.of('wanted')} 이상으로 늘려 주세요. CPU에만 적용하려면 models.${p.model}.cpu.context를 쓰면 됩니다. 요청을 줄여도 됩니다.`,
  }),
  gpu_unknown: (p) => ({
    said: `${p.model} 모델에 설정된 GPU(${p.of('devices')})가 이 기기와 맞지 않습니다.`,
    fix: `llamastead.yaml의 models.${p.model}.gpu.devices를 고쳐 주세요.`,
  }),
  model_big_endian: (p) => ({
    said: `"${p.of('file')}" 파일은 빅 엔디언 GGUF여서 이 기기에서 실행할 수 없습니다.`,
    fix: '같은 모델의 일반적인(리틀 엔디언) 파일을 넣어 주세요.',
  }),
  model_file_missing: (p) => ({
    said: `${p.model} 모델의 파일 ${p.of('file')}이(가) 모델 폴더에 없거나 쓸 수 없는 파일입니다.`,
    fix: '파일을 모델 폴더에 넣거나 설정에서 이름을 고쳐 주세요.',
  }),
  model_link_broken: (p) => ({
    said: `"${p.of('file')}" 링크가 가리키는 파일이 없습니다.`,
    fix: '가리키는 파일을 모델 폴더 안에 되돌려 놓거나 링크를 지워 주세요.',
  }),
  model_shard_missing: (p) => ({
    said: `"${p.of('file')}" 모델은 파일 ${p.of('count')}개로 나뉘어 있는데 "${p.of('missing')}" 파일이 없습니다.`,
    fix: '모델의 모든 파일을 같은 폴더에 넣어 주세요.',
  }),
  model_tensor_type: (p) => ({
    said: `"${p.of('file')}" 파일은 아직 지원하지 않는 형식으로 저장되어 있습니다.`,
    fix: 'Llamastead와 이미지를 업데이트하거나, 다른 양자화 파일을 넣어 주세요.',
  }),
  model_unreadable: (p) => ({
    said: `${p.model === '' ? '모델' : `${p.model} 모델`}의 파일을 읽을 수 없습니다.`,
    fix: '파일과 모델 폴더를 확인해 주세요. 자동으로 다시 시도합니다.',
  }),
  model_version: (p) => ({
    said: `"${p.of('file')}" 파일의 GGUF 버전(${p.of('version')})을 지원하지 않습니다. 버전 2와 3을 지원합니다.`,
    fix: '버전 3으로 변환된 파일을 넣거나 Llamastead를 업데이트해 주세요.',
  }),
  restart_needed: (p) => ({
    said: `다음 설정은 Llamastead를 다시 시작해야 적용됩니다: ${p.of('keys')}`,
    fix: 'Llamastead 컨테이너를 다시 시작해 주세요.',
  }),
  settings_broken: (p) => ({
    said: `저장된 설정을 읽지 못해 설정 파일의 값을 씁니다. 읽지 못한 파일은 ${p.of('file')}에 남겨 두었습니다.`,
    fix: '이 페이지에서 다시 설정하거나, 그 파일을 고쳐 되돌려 놓아 주세요.',
  }),
  settings_unknown: (p) => ({
    said: `알 수 없거나 잘못된 설정을 제외했습니다: ${p.of('keys')}`,
    fix: '이 페이지에서 다시 설정해 주세요.',
  }),
  settings_unreadable: () => ({
    said: '저장된 설정을 읽을 수 없어 설정 파일의 값을 씁니다.',
    fix: '상태 폴더를 읽을 수 있는지 확인한 뒤 Llamastead를 다시 시작해 주세요.',
  }),
  events_not_kept: () => ({
    said: '이벤트를 디스크에 저장하지 못했습니다. 다시 시작하면 사라집니다.',
    fix: '상태 폴더가 있는 디스크의 공간을 확보하고, 쓸 수 있는지 확인해 주세요.',
  }),
  state_broken: (p) => ({
    said: `Llamastead의 상태 파일을 쓸 수 없어 새로 만들었습니다. 이전 파일은 ${p.of('file')}에 남겨 두었습니다.`,
    fix: '이전 컨테이너를 알아보지 못하므로, 이름이 llamastead-로 시작하는 컨테이너를 직접 제거해 주세요.',
  }),
  state_unreadable: (p) => ({
    said: `상태 폴더를 읽을 수 없어 이전 컨테이너를 알아보지 못합니다: ${p.of('cause')}`,
    fix: '상태 폴더를 읽을 수 있는지 확인한 뒤 Llamastead를 다시 시작해 주세요.',
  }),
  state_unwritable: (p) => ({
    said: `상태 폴더에 쓸 수 없습니다: ${p.of('cause')}. 다시 시작하면 알아낸 내용을 잊습니다.`,
    fix: '상태 폴더가 있는 디스크의 공간을 확보하고, 쓸 수 있는지 확인해 주세요.',
  }),
};
