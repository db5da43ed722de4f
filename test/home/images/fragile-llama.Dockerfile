ARG BASE
FROM ${BASE}
COPY fragile-llama.mjs /fragile-llama.mjs
ENTRYPOINT ["node", "/fragile-llama.mjs"]
