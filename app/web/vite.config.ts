import { defineConfig } from 'vite';

export default defineConfig({
  // Relative addresses: the page also works below a path of a reverse proxy.
  base: './',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    target: 'es2023',
    // Named browsers keep `light-dark()` as it is; a year as target turns it into a long fallback.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    // A rarer view comes from next door when it is opened: a list of what it needs would weigh more than it saves.
    modulePreload: {
      polyfill: false,
      resolveDependencies: (_file, needed, { hostType }) => (hostType === 'html' ? needed : []),
    },
    // What views share comes in one piece: many small ones compress badly.
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: 'shared', minShareCount: 2 }] } } },
  },
});
