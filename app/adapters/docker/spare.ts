/**
 * To be imported before dockerode. It and docker-modem require at their load what serves BuildKit's sessions,
 * which we never open (gRPC, protobuf), and ssh: 12 MB that would lie in memory for good. ssh comes when it is
 * used.
 */
import { registerHooks } from 'node:module';

const SPARED = new Set(['@grpc/grpc-js', '@grpc/proto-loader', 'protobufjs', 'ssh2']);
const BY = /\/node_modules\/(dockerode|docker-modem)\//;
const url = new URL('spared.cjs', import.meta.url).href;

registerHooks({
  resolve(specifier, context, next) {
    const spared = SPARED.has(specifier) && BY.test(context.parentURL ?? '');
    return spared ? { url, format: 'commonjs', shortCircuit: true } : next(specifier, context);
  },
});
