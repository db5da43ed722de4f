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
  docker_socket_forbidden: () => ({
    said: 'Llamastead에 Docker 소켓을 쓸 권한이 없습니다.',
    fix: 'Llamastead를 root로 실행하거나, 소켓을 소유한 그룹을 compose 파일의 group_add에 추가해 주세요.',
  }),
  docker_socket_missing: () => ({
    said: 'Docker 소켓이 없습니다.',
    fix: 'Llamastead 컨테이너에 /var/run/docker.sock을 마운트해 주세요.',
  }),
  docker_too_old: () => ({
    said: 'Docker가 너무 오래됐습니다.',
    fix: 'Docker를 20.10 이상으로 업데이트해 주세요.',
  }),
  gpu_driver_missing: (p) => ({
    said: `${p.of('gpu')} GPU의 드라이버가 로드되지 않았습니다.`,
    fix: '호스트에 GPU 드라이버를 설치하거나 로드한 뒤 호스트를 다시 시작해 주세요.',
  }),
  gpu_not_used: (p) => ({
    said: `${p.of('gpu')} GPU를 찾았지만 쓰지 않습니다. 호스트의 메모리를 함께 써서 CPU보다 빠른 경우가 드뭅니다.`,
    fix: `쓰려면 llamastead.yaml에 다음을 적어 주세요: gpus: [{name: ${p.of('gpu')}, kind: ${p.of('kind')}, memory: shared}]. 쓰지 않으려면 gpus: []를 적어 주세요.`,
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
    fix: 'GGUF 파일을 넣어 주세요. 전에 모델이 있었다면 디스크가 마운트되지 않았을 수 있습니다. 마운트한 뒤 컨테이너를 다시 시작해 주세요.',
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
  no_placement: (p) => ({
    said: `${p.model} 모델은 이 기기에서 설정된 위치에 실행할 수 없습니다.`,
    fix: '모델의 placements를 바꾸거나 장치를 추가해 주세요.',
  }),
};
