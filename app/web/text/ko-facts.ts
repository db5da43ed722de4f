/**
 * Facts and reasons in Korean. A name is followed by 모델, so that the particles 을, 이, 은, 로 are always
 * right.
 */

import type { Fact } from '../../core/facts.ts';
import type { Placement } from '../../core/types.ts';
import type { Format } from './format.ts';
import type { FactPhrases, ReasonPhrases } from './phrases.ts';
import { requestCount } from './phrases.ts';

export const koReasons: ReasonPhrases = {
  out_of_memory: '메모리 부족',
  device_missing: 'GPU를 찾지 못함',
  gpu_lost: 'GPU 연결 끊김',
  start_failed: '시작하지 못함',
  load_failed: '모델을 로드하지 못함',
  exit: '프로그램이 종료됨',
  reset: '연결이 끊김',
  hang: '제시간에 응답하지 않음',
  stall: '답변이 중간에 멈춤',
  frozen: '프로그램이 멈춰 아무 반응이 없음',
  paused: '컨테이너가 일시 정지됨',
  killed_outside: '외부에서 컨테이너를 중지함',
  memory_limit: '메모리 한도에 도달함',
  compute_error: '계산 오류',
  connection_lost: '연결이 끊김',
  does_not_fit: '메모리에 들어가지 않음',
  unknown: '원인을 알 수 없음',
};

export function koPlace(placement: Placement | 'none'): string {
  return { gpu: 'GPU', split: 'GPU와 CPU', cpu: 'CPU', none: '장치 없음' }[placement];
}

const name = (fact: Fact) => (fact.model === undefined ? '모델' : `${fact.model} 모델`);
const at = (fact: Fact) => (fact.placement === undefined ? '' : `${koPlace(fact.placement)}에서 `);
const detail = (fact: Fact) => (fact.detail === undefined ? '' : ` “${fact.detail}”`);
const because = (fact: Fact) => (fact.reason === undefined ? '' : ` 원인: ${koReasons[fact.reason]}.`);

/** The cause as the first half of a sentence that goes on. */
function failed(fact: Fact): string {
  const where = koPlace(fact.placement ?? 'gpu');
  switch (fact.reason) {
    case 'out_of_memory':
      return `${where} 메모리가 부족해`;
    case 'gpu_lost':
      return 'GPU 연결이 끊겨';
    case 'device_missing':
      return 'GPU를 찾지 못해';
    case 'hang':
      return `${where}에서 제시간에 응답하지 않아`;
    case 'stall':
      return `${where}에서 답변이 중간에 멈춰`;
    case 'frozen':
      return `${where}에서 돌던 프로그램이 멈춰 아무 반응이 없어`;
    case 'paused':
      return `${where} 컨테이너가 일시 정지되어`;
    case 'killed_outside':
      return `외부에서 ${where} 컨테이너를 중지해`;
    case 'memory_limit':
      return `${where} 컨테이너가 메모리 한도에 도달해`;
    default:
      return `${where}에 문제가 생겨(${koReasons[fact.reason ?? 'unknown']})`;
  }
}

function loadFigures(fact: Fact, format: Format): string {
  const took = fact.seconds === undefined ? null : `로드에 ${format.duration(fact.seconds)} 걸렸`;
  const uses =
    fact.vram !== undefined && fact.vram > 0
      ? `GPU 메모리 ${format.memory(fact.vram)}를 씁니다.`
      : fact.bytes === undefined
        ? null
        : `메모리 ${format.memory(fact.bytes)}를 씁니다.`;
  if (took !== null && uses !== null) return ` ${took}고 ${uses}`;
  if (took !== null) return ` ${took}습니다.`;
  return uses === null ? '' : ` ${uses}`;
}

function unloaded(fact: Fact, format: Format): string {
  const freed = fact.bytes === undefined ? '' : ` 메모리 ${format.memory(fact.bytes)}가 다시 비었습니다.`;
  switch (fact.why) {
    case 'idle':
      return `${name(fact)}을 한동안 쓰지 않아 언로드했습니다.${freed}`;
    case 'command':
      return `요청하신 대로 ${name(fact)}을 언로드했습니다.${freed}`;
    case 'mode':
      return `모드가 바뀌어 ${name(fact)}을 언로드했습니다.${freed}`;
    case 'config':
      return `설정이 바뀌어 ${name(fact)}을 언로드했습니다.${freed}`;
    case 'room':
      return `다른 모델의 자리를 마련하려고 ${name(fact)}을 언로드했습니다.${freed}`;
    case 'failed':
      return `문제가 생긴 ${name(fact)}을 ${at(fact)}제거했습니다.${freed}`;
    case 'recovered':
      return `GPU로 돌아왔으므로 ${name(fact)}을 ${at(fact)}언로드했습니다.${freed}`;
    case 'shutdown':
      return `Llamastead가 종료되어 ${name(fact)}을 언로드했습니다.`;
    default:
      return `${name(fact)}을 언로드했습니다.${freed}`;
  }
}

const MODES = {
  auto: '이 이제 GPU와 CPU 중에서 스스로 고릅니다',
  gpu: '을 이제 GPU에서만 실행합니다',
  cpu: '을 이제 CPU에서만 실행합니다',
  off: '을 껐습니다',
};

const VERDICTS = { passed: '통과', failed: '실패', not_applicable: '해당 없음' } as const;

export const koFacts: FactPhrases = {
  model_loading: (f) => `${name(f)}을 ${at(f)}시작하고 있습니다.`,
  model_loaded: (f, format) => `${name(f)}이 ${at(f)}준비됐습니다.${loadFigures(f, format)}`,
  model_unloading: (f) => `${name(f)}을 언로드하고 있습니다.`,
  model_unloaded: unloaded,
  load_failed: (f) => `${name(f)}을 ${at(f)}로드하지 못했습니다.${because(f)}${detail(f)}`,
  request_failed: (f) => `${name(f)}에 보낸 요청이 실패했습니다.${because(f)}${detail(f)}`,
  failover: (f) => {
    const n = requestCount(f);
    return `${failed(f)} ${name(f)}의 요청${n === 0 ? '' : ` ${n}건`}을 ${koPlace(f.to ?? 'cpu')}에서 이어서 처리합니다.`;
  },
  failover_failed: (f) =>
    `${failed(f)} ${name(f)}의 요청 ${Math.max(1, requestCount(f))}건을 이어서 처리하지 못하고 오류로 답했습니다.${detail(f)}`,
  recovered: (f, format) =>
    `${name(f)}이 ${f.seconds === undefined ? '' : `${format.duration(f.seconds)} 만에 `}${koPlace(f.to ?? f.placement ?? 'gpu')}로 돌아왔습니다.`,
  backend_crashed: (f) => `${name(f)}이 ${at(f)}멈췄습니다.${because(f)}${detail(f)}`,
  out_of_memory: (f, format) =>
    `${name(f)}이 ${at(f)}쓸 메모리가 부족합니다.${f.need !== undefined && f.room !== undefined ? ` ${format.memory(f.need)}가 필요했지만 ${format.memory(f.room)}만 비어 있었습니다.` : ''}`,
  gpu_lost: (f) => `GPU가 보이지 않습니다.${detail(f)}`,
  gpu_back: (f) => `GPU를 사용할 수 있습니다.${detail(f)}`,
  cpu_fallback_detected: (f) =>
    `${name(f)}이 GPU가 아닌 CPU에서 실행되고 있습니다.${f.reason === 'device_missing' ? ' 컨테이너가 GPU를 찾지 못했습니다.' : because(f)}${detail(f)}`,
  ram_pressure: (f, format) =>
    f.room !== undefined && f.need !== undefined
      ? `메모리가 부족합니다. 남은 ${format.memory(f.room)}가 NAS용으로 비워 둘 ${format.memory(f.need)}보다 적어, 여유가 생길 때까지 모델을 로드하지 않습니다.`
      : '메모리가 부족합니다. 여유가 생길 때까지 모델을 로드하지 않습니다.',
  ram_relieved: () => '메모리에 다시 여유가 생겼습니다. 모델을 평소처럼 로드합니다.',
  vram_pressure: () => '다른 프로그램이 GPU 메모리를 쓰고 있어 모델이 자리를 내줍니다.',
  vram_relieved: () => 'GPU 메모리에 다시 여유가 생겼습니다.',
  load_refused: (f, format) =>
    f.need !== undefined && f.room !== undefined
      ? `${name(f)}을 로드하지 않았습니다. ${format.memory(f.need)}가 필요하지만 모델이 더 쓸 수 있는 메모리는 ${format.memory(f.room)}입니다.`
      : `${name(f)}을 로드하지 않았습니다.${because(f)}${detail(f)}`,
  duplicate_model: (f) => `${name(f)}이 다른 프로그램에도 로드되어 있습니다.${detail(f)}`,
  drill_started: (f) =>
    `${f.model === undefined ? '' : `${name(f)}의 `}장애 훈련을 시작했습니다. 일부러 장애를 일으킵니다${f.scenario === undefined ? '' : ` (${f.scenario})`}.`,
  drill_finished: (f, format) =>
    `${f.model === undefined ? '' : `${name(f)}의 `}장애 훈련이 ${f.seconds === undefined ? '' : `${format.duration(f.seconds)} 만에 `}끝났습니다.${f.verdict === undefined ? '' : ` 결과: ${VERDICTS[f.verdict]}.`}${detail(f)}`,
  mode_changed: (f) =>
    f.mode === undefined ? `${name(f)}의 모드가 바뀌었습니다.` : `${name(f)}${MODES[f.mode]}.`,
  setting_changed: (f) =>
    `설정이 바뀌었습니다.${f.key === undefined ? '' : ` ${f.key}${f.value === undefined ? '' : `: ${String(f.value)}`}`}`,
  config_reloaded: () => '설정 파일을 다시 읽었습니다.',
  image_pulling: () => 'llama.cpp 프로그램을 내려받고 있습니다.',
  image_pulled: (f, format) =>
    `llama.cpp 프로그램을 ${f.seconds === undefined ? '' : `${format.duration(f.seconds)} 만에 `}내려받았습니다.`,
  image_pull_failed: (f, format) =>
    f.need !== undefined && f.room !== undefined
      ? `llama.cpp 이미지를 내려받지 못했습니다. 디스크 공간이 ${format.file(f.need - f.room)} 부족합니다. 공간을 확보하면 자동으로 이어서 받습니다.`
      : `llama.cpp 이미지를 내려받지 못했습니다.${detail(f)} 자동으로 다시 시도합니다.`,
  download_finished: (f) => `${name(f)}을 내려받았습니다.`,
  download_failed: (f) => `${name(f)}을 내려받지 못했습니다.${because(f)}${detail(f)}`,
  broker_lost: () =>
    'MQTT 브로커와 연결이 끊겼습니다. 다시 연결될 때까지 Home Assistant에 소식이 전해지지 않습니다.',
  broker_back: () => 'MQTT 브로커와 다시 연결됐습니다.',
};
