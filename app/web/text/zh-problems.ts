/** Problems in Chinese. */
import type { ProblemPhrases } from './problems.ts';

const NEW_FILE = '请重新下载该文件。';

export const zhProblems: ProblemPhrases = {
  docker_failed: () => ({
    said: '无法使用 Docker。',
    fix: '请查看 Docker 服务的日志（journalctl -u docker）。',
  }),
  leftovers_found: (p) => ({
    said: `发现名为 ${p.of('home')} 的另一个 Llamastead 留下的内容：${p.of('names')}。Llamastead 不会改动它们。`,
    fix: `如果不再需要，请删除：${p.of('commands')}`,
  }),
  second_controller: () => ({
    said: '已有同名的 Llamastead 在运行，因此不使用此 Docker。',
    fix: '请停止其中一个，或在 mqtt.instance 中另取一个名称。',
  }),
  docker_not_answering: () => ({
    said: 'Docker 没有响应。',
    fix: '请检查主机是否内存不足或磁盘卡住；如果一直如此，请重启 Docker。',
  }),
  docker_not_running: () => ({
    said: 'Docker 的套接字存在，但 Docker 没有响应。',
    fix: '请在主机上启动 Docker（systemctl start docker）。如果重装过 Docker，也请重启 Llamastead。',
  }),
  docker_socket_forbidden: (p) => ({
    said: `Llamastead 没有使用 Docker 套接字 ${p.of('socket')} 的权限。`,
    fix: p.has('group')
      ? `请以 root 运行 Llamastead（在 compose 文件中删除 user:），或加入该套接字的组：group_add: ["${p.of('group')}"]。`
      : '请以 root 运行 Llamastead（在 compose 文件中删除 user:），或给其用户使用该套接字的权限。',
  }),
  docker_socket_missing: (p) => ({
    said: `找不到 Docker 的套接字 ${p.of('socket')}。`,
    fix: '请把 /var/run/docker.sock 挂载到 Llamastead 容器。',
  }),
  docker_too_old: () => ({ said: 'Docker 版本太旧。', fix: '请把 Docker 更新到 20.10 或更高版本。' }),
  gpu_driver_missing: (p) => ({
    said: `${p.of('gpu')} 的驱动没有加载。`,
    fix: '请在主机上安装或加载 GPU 驱动，然后重启主机。',
  }),
  gpu_not_used: (p) => ({
    said: `找到了 ${p.of('gpu')}，但没有使用。`,
    fix: '要使用它，请写入 llamastead.yaml 的 gpus；不使用则写 gpus: []。具体内容见详情。',
  }),
  holder_failed: (p) => ({
    said: `无法建立模型所用的网络：${p.of('detail')}`,
    fix: '请检查 Docker 是否还能创建网络和容器（docker network ls、docker system df）。',
  }),
  image_missing: (p) => ({
    said: `缺少镜像 ${p.of('image')}。`,
    fix: `请下载镜像：docker pull ${p.of('image')}`,
  }),
  model_damaged: (p) => ({ said: `文件“${p.of('file')}”已损坏：${p.of('what')}`, fix: NEW_FILE }),
  model_missing: (p) => ({
    said: `模型文件夹中没有文件“${p.of('file')}”。`,
    fix: '请把文件放进模型文件夹，或更正配置中的名称。',
  }),
  model_not_gguf: (p) => ({
    said: `“${p.of('file')}”不是 GGUF 文件。`,
    fix: '请使用 GGUF 格式的模型。如果保存的是网页，请下载文件本身。',
  }),
  model_not_readable: (p) => ({
    said: `无法读取模型文件“${p.of('file')}”：${p.of('why')}`,
    fix: '请检查文件权限和磁盘状态。',
  }),
  model_outside: (p) => ({
    said: `“${p.of('file')}”指向模型文件夹之外。`,
    fix: '请把文件复制到模型文件夹中；指向外部的链接不会使用。',
  }),
  model_truncated: (p) => ({
    said: `文件“${p.of('file')}”不完整。`,
    fix: `${NEW_FILE}如果仍在下载，完成后会自动解决。`,
  }),
  models_folder_empty: (p) => ({
    said: `模型文件夹 ${p.of('folder')} 中没有模型文件（.gguf）。`,
    fix: '请放入 GGUF 文件。如果以前有模型，可能是磁盘没有挂载：请挂载。如果一分钟内没有找到，请重启 Llamastead 的容器。',
  }),
  models_folder_missing: (p) => ({
    said: `模型文件夹 ${p.of('folder')} 不存在。`,
    fix: '请挂载存放模型的磁盘，或设置 paths.models；之后会自动找到。',
  }),
  models_folder_unreadable: (p) => ({
    said: `无法读取模型文件夹 ${p.of('folder')}：${p.of('why')}`,
    fix: '请给 Llamastead 该文件夹的读取权限。',
  }),
  models_not_shared: () => ({
    said: 'Docker 看不到模型文件夹。',
    fix: '请在 Llamastead 容器的模型文件夹处挂载主机文件夹或卷。',
  }),
  poison: (p) => ({
    said: `有 ${p.of('count')} 个请求两次使 ${p.model} 崩溃，10 分钟内不再接受。`,
    fix: '事件中有该请求和最后的日志。请缩短或修改请求，或更新 llama.cpp 镜像。',
  }),
  reduced: (p) => ({
    said: `${p.model} 在回答时耗尽了显存，现在 GPU 上同时处理 ${p.of('parallel')} 个请求、每个 ${p.of('context')} 个 token（设定为 ${p.of('configuredParallel')} 个、${p.of('configuredContext')} 个 token）。`,
    fix: '重启该模型可恢复设定值。若再次发生，请降低 parallel 或 context，将 KV 缓存改为 q8_0，或释放显存。',
  }),
  gpu_memory_held: (p) => ({
    said: `${p.model} 已从 GPU ${p.of('gpu')} 卸载，但 5 秒后其显存仍未释放。`,
    fix: '可能被其他程序占用。若因显存不足而加载失败，请结束该程序，或重启主机以重置驱动。',
  }),
  gpu_memory_unread: (p) => ({
    said: `无法读取 NVIDIA 显卡的显存：${p.of('detail')}`,
    fix: `可以这样检查：docker run --rm --gpus all --entrypoint nvidia-smi ${p.of('image')}。若 Docker 提示没有 NVIDIA 驱动，请在主机上安装 NVIDIA Container Toolkit 并重启 Docker。`,
  }),
  no_placement: (p) => ({
    said: `${p.model} 无法在这台机器上按设定的位置运行。`,
    fix: '请更改模型的 placements，或添加设备。',
  }),
  broker_failed: () => ({
    said: '内置 MQTT 代理没有运行。',
    fix: '请在 mqtt.embedded.port 设置其他端口，或在 mqtt.url 填写您自己的代理。',
  }),
  config_invalid: () => ({
    said: '更改后的配置有误，没有使用；继续使用之前的配置。',
    fix: '请修正文件，之后会自动重新读取。',
  }),
  context_exceeded: (p) => ({
    said: `有一个请求有 ${p.of('tokens')} 个 token，超过了 ${p.model} 能接受的长度（${p.of('context')} 个 token）。`,
    fix: p.has('whole')
      ? `显存耗尽后，该模型以较小的上下文运行。重启该模型可恢复设定值（${p.of('whole')} 个 token）。也可以缩短请求。`
      : `请将 models.${p.model}.context 设为至少 ${p.of('wanted')}；只对 CPU 生效时使用 models.${p.model}.cpu.context。也可以缩短请求。`,
  }),
  gpu_unknown: (p) => ({
    said: `${p.model} 配置的 GPU（${p.of('devices')}）与这台机器不符。`,
    fix: `请更正 llamastead.yaml 中的 models.${p.model}.gpu.devices。`,
  }),
  model_big_endian: (p) => ({
    said: `“${p.of('file')}”是大端 GGUF 文件，这台机器无法运行。`,
    fix: '请使用同一模型的常规（小端）文件。',
  }),
  model_file_missing: (p) => ({
    said: `${p.model} 的文件 ${p.of('file')} 不在模型文件夹中，或无法使用。`,
    fix: '请把文件放进模型文件夹，或更正配置中的名称。',
  }),
  model_link_broken: (p) => ({
    said: `链接“${p.of('file')}”指向的文件不存在。`,
    fix: '请在模型文件夹中恢复该文件，或删除链接。',
  }),
  model_shard_missing: (p) => ({
    said: `“${p.of('file')}”由 ${p.of('count')} 个文件组成，缺少“${p.of('missing')}”。`,
    fix: '请把模型的所有文件放进同一个文件夹。',
  }),
  model_tensor_type: (p) => ({
    said: `“${p.of('file')}”的存储格式尚不支持。`,
    fix: '请更新 Llamastead 及其镜像，或使用该模型的其他量化版本。',
  }),
  model_unreadable: (p) => ({
    said: `无法读取 ${p.model === '' ? '模型' : p.model} 的文件。`,
    fix: '请检查该文件和模型文件夹；会自动重试。',
  }),
  model_version: (p) => ({
    said: `不支持“${p.of('file')}”的 GGUF 版本 ${p.of('version')}，支持版本 2 和 3。`,
    fix: '请使用版本 3 的文件，或更新 Llamastead。',
  }),
  restart_needed: (p) => ({
    said: `以下设置在重启 Llamastead 后生效：${p.of('keys')}`,
    fix: '请重启 Llamastead 容器。',
  }),
  settings_broken: (p) => ({
    said: `无法读取已保存的设置，改用配置文件中的值。原文件保留为 ${p.of('file')}。`,
    fix: '请在此页面重新设置，或修复该文件后放回。',
  }),
  settings_unknown: (p) => ({
    said: `已略去未知或无效的设置：${p.of('keys')}`,
    fix: '请在此页面重新设置。',
  }),
  settings_unreadable: () => ({
    said: '无法读取已保存的设置，改用配置文件中的值。',
    fix: '请确认状态文件夹可读，然后重启 Llamastead。',
  }),
  events_not_kept: () => ({
    said: '事件未能保存到磁盘，重启后会丢失。',
    fix: '请为状态文件夹所在磁盘腾出空间，并确认可以写入。',
  }),
  state_broken: (p) => ({
    said: `Llamastead 的状态文件无法使用，已新建。原文件保留为 ${p.of('file')}。`,
    fix: '以前的容器不再被识别，请手动删除名称以 llamastead- 开头的容器。',
  }),
  state_unreadable: (p) => ({
    said: `无法读取状态文件夹，以前的容器不再被识别：${p.of('cause')}`,
    fix: '请确认状态文件夹可读，然后重启 Llamastead。',
  }),
  state_unwritable: (p) => ({
    said: `无法写入状态文件夹：${p.of('cause')}。重启后会忘记已了解的内容。`,
    fix: '请为状态文件夹所在磁盘腾出空间，并确认可以写入。',
  }),
};
