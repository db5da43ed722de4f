import type { WarmModel } from './images/warm-shaders.ts';

/** The bench's two models as its configuration runs them. Contexts are per request. */
export function benchModels(files: {
  tinyFile: string;
  chatFile: string;
}): [chat: WarmModel, tiny: WarmModel] {
  return [
    { file: files.chatFile, context: 8192, parallel: 2 },
    { file: files.tinyFile, context: 2048, parallel: 4 },
  ];
}
