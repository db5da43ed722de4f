# llama-server for the CPU from Debian's packages, laid out as llama.cpp's own `server` images are:
# /app/llama-server is the entry point and every setting comes from LLAMA_ARG_* variables.
ARG BASE
FROM ${BASE}
# The library holds one CPU backend for each x86 level. The lists are not kept: an image is built once.
RUN apt-get -o Acquire::Check-Valid-Until=false update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        llama.cpp-tools llama.cpp-tools-extra \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/archives/*.deb \
    && mkdir -p /app && ln -s /usr/bin/llama-server /usr/bin/llama-fit-params /app/
ENV LLAMA_ARG_HOST=0.0.0.0
WORKDIR /app
ENTRYPOINT ["/app/llama-server"]
