/** Facts and reasons in Chinese: a space between Han and Latin or digits, full-width punctuation. */

import type { Fact } from '../../core/facts.ts';
import type { Placement } from '../../core/types.ts';
import type { Format } from './format.ts';
import type { FactPhrases, ReasonPhrases } from './phrases.ts';
import { requestCount } from './phrases.ts';

export const zhReasons: ReasonPhrases = {
  out_of_memory: '内存不足',
  device_missing: '找不到 GPU',
  gpu_lost: 'GPU 失去连接',
  start_failed: '无法启动',
  load_failed: '模型无法加载',
  exit: '程序已退出',
  reset: '连接中断',
  hang: '未及时响应',
  stall: '回答中途停止',
  frozen: '程序卡死，毫无反应',
  paused: '容器被暂停',
  killed_outside: '容器被外部停止',
  memory_limit: '达到内存上限',
  compute_error: '计算出错',
  connection_lost: '连接中断',
  does_not_fit: '内存放不下',
  unknown: '原因不明',
};

export function zhPlace(placement: Placement | 'none'): string {
  return { gpu: 'GPU', split: 'GPU 和 CPU', cpu: 'CPU', none: '无设备' }[placement];
}

const name = (fact: Fact) => fact.model ?? '模型';
const at = (fact: Fact) => (fact.placement === undefined ? '' : `在 ${zhPlace(fact.placement)} 上`);
const detail = (fact: Fact) => (fact.detail === undefined ? '' : `“${fact.detail}”`);
const because = (fact: Fact) => (fact.reason === undefined ? '' : `：${zhReasons[fact.reason]}`);

function failed(fact: Fact): string {
  const where = zhPlace(fact.placement ?? 'gpu');
  switch (fact.reason) {
    case 'out_of_memory':
      return fact.placement === 'cpu' ? '内存不足' : '显存不足';
    case 'gpu_lost':
      return 'GPU 失去连接';
    case 'device_missing':
      return '找不到 GPU';
    case 'hang':
      return `${where} 未及时响应`;
    case 'stall':
      return `${where} 的回答中途停止`;
    case 'frozen':
      return `${where} 上的程序卡死，毫无反应`;
    case 'paused':
      return `${where} 的容器被暂停`;
    case 'killed_outside':
      return `${where} 的容器被外部停止`;
    case 'memory_limit':
      return `${where} 的容器达到内存上限`;
    default:
      return `${where} 出现问题（${zhReasons[fact.reason ?? 'unknown']}）`;
  }
}

function loadFigures(fact: Fact, format: Format): string {
  const took = fact.seconds === undefined ? null : `加载用时 ${format.duration(fact.seconds)}`;
  const uses =
    fact.vram !== undefined && fact.vram > 0
      ? `占用显存 ${format.memory(fact.vram)}`
      : fact.bytes === undefined
        ? null
        : `占用内存 ${format.memory(fact.bytes)}`;
  const parts = [took, uses].filter((part) => part !== null);
  return parts.length === 0 ? '。' : `：${parts.join('，')}。`;
}

function unloaded(fact: Fact, format: Format): string {
  const freed = fact.bytes === undefined ? '。' : `，释放 ${format.memory(fact.bytes)}。`;
  switch (fact.why) {
    case 'idle':
      return `${name(fact)} 闲置已久，已卸载${freed}`;
    case 'command':
      return `已按您的要求卸载 ${name(fact)}${freed}`;
    case 'mode':
      return `模式已更改，${name(fact)} 已卸载${freed}`;
    case 'config':
      return `配置已更改，${name(fact)} 已卸载${freed}`;
    case 'room':
      return `为给其他模型腾出空间，${name(fact)} 已卸载${freed}`;
    case 'failed':
      return `${name(fact)} 出错后已移除${freed}`;
    case 'recovered':
      return `GPU 已恢复，${name(fact)} 已从 ${zhPlace(fact.placement ?? 'cpu')} 卸载${freed}`;
    case 'shutdown':
      return `Llamastead 正在停止，${name(fact)} 已卸载。`;
    default:
      return `${name(fact)} 已卸载${freed}`;
  }
}

const MODES = {
  auto: '现在自行选择 GPU 或 CPU',
  gpu: '现在只在 GPU 上运行',
  cpu: '现在只在 CPU 上运行',
  off: '已关闭',
};

const VERDICTS = { passed: '通过', failed: '未通过', not_applicable: '不适用' } as const;

export const zhFacts: FactPhrases = {
  model_loading: (f) => `正在${at(f)}启动 ${name(f)}。`,
  model_loaded: (f, format) =>
    `${name(f)} 已${f.placement === undefined ? '' : `在 ${zhPlace(f.placement)} 上`}就绪${loadFigures(f, format)}`,
  model_unloading: (f) => `正在卸载 ${name(f)}。`,
  model_unloaded: unloaded,
  load_failed: (f) => `${name(f)} 未能${at(f)}加载${because(f)}。${detail(f)}`,
  request_failed: (f) => `对 ${name(f)} 的一个请求失败${because(f)}。${detail(f)}`,
  failover: (f) => {
    const n = requestCount(f);
    return `${failed(f)}，${name(f)} 的${n === 0 ? '请求' : ` ${n} 个请求`}改由 ${zhPlace(f.to ?? 'cpu')} 继续处理。`;
  },
  failover_failed: (f) =>
    `${failed(f)}，${name(f)} 的 ${Math.max(1, requestCount(f))} 个请求无法继续，已返回错误。${detail(f)}`,
  recovered: (f, format) =>
    f.seconds === undefined
      ? `${name(f)} 已恢复到 ${zhPlace(f.to ?? f.placement ?? 'gpu')}。`
      : `${name(f)} 在 ${format.duration(f.seconds)}后恢复到 ${zhPlace(f.to ?? f.placement ?? 'gpu')}。`,
  backend_crashed: (f) => `${name(f)} ${at(f)}停止运行${because(f)}。${detail(f)}`,
  out_of_memory: (f, format) =>
    `${name(f)} ${at(f)}内存不足。${f.need !== undefined && f.room !== undefined ? `需要 ${format.memory(f.need)}，而空闲的只有 ${format.memory(f.room)}。` : ''}`,
  gpu_lost: (f) => `看不到 GPU 了。${detail(f)}`,
  gpu_back: (f) => `GPU 可以使用了。${detail(f)}`,
  cpu_fallback_detected: (f) =>
    `${name(f)} 本应在 GPU 上运行，实际却在 CPU 上${f.reason === 'device_missing' ? '：容器中检测不到 GPU' : because(f)}。${detail(f)}`,
  ram_pressure: (f, format) =>
    f.room !== undefined && f.need !== undefined
      ? `内存不足：剩余 ${format.memory(f.room)}，低于为 NAS 预留的 ${format.memory(f.need)}；恢复之前不再加载模型。`
      : '内存不足，恢复之前不再加载模型。',
  ram_relieved: () => '内存已恢复充足，模型照常加载。',
  vram_pressure: () => '其他程序正在占用显存，模型会让出空间。',
  vram_relieved: () => '显存已恢复充足。',
  load_refused: (f, format) =>
    f.need !== undefined && f.room !== undefined
      ? `未加载 ${name(f)}：需要 ${format.memory(f.need)}，而模型还可用的只有 ${format.memory(f.room)}。`
      : `未加载 ${name(f)}${because(f)}。${detail(f)}`,
  duplicate_model: (f) => `${name(f)} 被重复加载：另一个程序也加载了它。${detail(f)}`,
  drill_started: (f) =>
    `${f.model === undefined ? '' : `${f.model} 的`}故障演练已开始：这是有意制造的故障${f.scenario === undefined ? '' : `（${f.scenario}）`}。`,
  drill_finished: (f, format) =>
    `${f.model === undefined ? '' : `${f.model} 的`}故障演练已结束${f.seconds === undefined ? '' : `，用时 ${format.duration(f.seconds)}`}${f.verdict === undefined ? '' : `，结果：${VERDICTS[f.verdict]}`}。${detail(f)}`,
  mode_changed: (f) => (f.mode === undefined ? `${name(f)} 的模式已更改。` : `${name(f)} ${MODES[f.mode]}。`),
  setting_changed: (f) =>
    `设置已更改${f.key === undefined ? '' : `：${f.key}${f.value === undefined ? '' : ` = ${String(f.value)}`}`}。`,
  config_reloaded: () => '已重新读取配置。',
  image_pulling: () => '正在下载 llama.cpp 程序。',
  image_pulled: (f, format) =>
    `llama.cpp 程序已下载${f.seconds === undefined ? '' : `，用时 ${format.duration(f.seconds)}`}。`,
  image_pull_failed: (f, format) =>
    f.need !== undefined && f.room !== undefined
      ? `llama.cpp 镜像下载失败：磁盘空间还差 ${format.file(f.need - f.room)}。腾出空间后会自动继续。`
      : `llama.cpp 镜像下载失败。${detail(f)} 会自动重试。`,
  download_finished: (f) => `${name(f)} 已下载。`,
  download_failed: (f) => `${name(f)} 下载失败${because(f)}。${detail(f)}`,
  broker_lost: () => '与 MQTT 代理的连接已断开。恢复之前 Home Assistant 收不到消息。',
  broker_back: () => '与 MQTT 代理的连接已恢复。',
};
