/** In the place of the packages that spare.ts names. An object of gRPC or protobuf is never asked for. */
class Client {
  constructor(...args) {
    const { Client: Real } = require('ssh2');
    // biome-ignore lint/correctness/noConstructorReturn: it stands for the class that is not loaded yet.
    return new Real(...args);
  }
}

module.exports = { Client };
