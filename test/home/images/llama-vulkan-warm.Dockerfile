# The Vulkan image with its compiled shaders, so that an instance starts in about a second.
ARG BASE
FROM ${BASE}
COPY shaders /var/cache/shaders
