/** Which layers look at a sliding window only (w) and which at everything (.), as llama.cpp's loaders set it. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { GgufValue } from '../../app/core/gguf-types.ts';
import { isWindowLayer } from '../../app/core/window-layers.ts';

function layers(architecture: string, pattern?: GgufValue): string {
  const meta = new Map<string, GgufValue>();
  if (pattern !== undefined) meta.set(`${architecture}.attention.sliding_window_pattern`, pattern);
  const of = (layer: number) => (isWindowLayer(meta, architecture, layer) ? 'w' : '.');
  return Array.from({ length: 12 }, (_, layer) => of(layer)).join('');
}

describe('a file that does not say', () => {
  for (const [architecture, expected] of [
    ['gemma2', 'w.w.w.w.w.w.'],
    ['gemma3', 'wwwww.wwwww.'],
    ['gemma-embedding', 'wwwww.wwwww.'],
    ['gemma3n', 'wwww.wwww.ww'],
    ['gpt-oss', 'w.w.w.w.w.w.'],
    ['llama4', 'www.www.www.'],
    ['cohere2', 'www.www.www.'],
    ['exaone4', 'www.www.www.'],
    ['olmo2', 'www.www.www.'],
    ['phi3', '............'],
    ['never-heard-of', '............'],
  ] as const) {
    test(`has the layers of ${architecture}`, () => assert.equal(layers(architecture), expected));
  }
});

describe('a file’s own pattern goes before the architecture’s', () => {
  for (const [what, pattern, expected] of [
    ['a period, whose last layer looks at everything', 3, 'ww.ww.ww.ww.'],
    ['a period of one: no layer has a window', 1, '............'],
    ['a period of none: each layer has', 0, 'wwwwwwwwwwww'],
    ['a list of the layers', [1, 0, 0, 1, 1, 1, 0, 1, 0, 0, 0, 1], 'w..www.w...w'],
    ['a list that ends early: the rest looks at everything', [1, 1, 0], 'ww..........'],
    ['what is neither: the architecture’s own', { count: 5000 }, 'w.w.w.w.w.w.'],
  ] as const) {
    test(what, () => assert.equal(layers('gemma2', pattern), expected));
  }
});
