# What a published `node:24-slim` image is to users, made from parts that are on this machine.
ARG BASE
FROM ${BASE}
COPY node /usr/local/bin/node
COPY npm /usr/local/lib/node_modules/npm
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm \
    && ln -s ../lib/node_modules/npm/bin/npx-cli.js /usr/local/bin/npx
# npm asks the registry that this machine's npm asks, and trusts what this machine trusts.
ARG REGISTRY
ENV npm_config_registry=${REGISTRY} NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt
