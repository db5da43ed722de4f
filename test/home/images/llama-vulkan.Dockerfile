# The CPU image with ggml's Vulkan backend and Mesa's software device (llvmpipe): a real Vulkan device on a
# machine without a GPU. Shaders that a run compiles go to the folder below; warm-shaders.ts fills it once.
ARG BASE
FROM ${BASE}
RUN apt-get -o Acquire::Check-Valid-Until=false update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        libggml0-backend-vulkan mesa-vulkan-drivers \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/archives/*.deb
ENV MESA_SHADER_CACHE_DIR=/var/cache/shaders
# Token by token: this device has no use for the shaders of larger batches. They take minutes to compile, and a
# prompt of 22 tokens is read in 5 s without them, in 9 s with them.
ENV LLAMA_ARG_UBATCH=1
