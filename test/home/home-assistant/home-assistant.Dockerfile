# Home Assistant as its own container runs it, from its Python package: complete, so that it starts offline.
ARG BASE
FROM ${BASE} AS build
# Two of its requirements come as source only, so there is a compiler in this stage.
RUN apt-get -o Acquire::Check-Valid-Until=false update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        python3 python3-venv python3-dev gcc g++
ENV PIP_CERT=/etc/ssl/certs/ca-certificates.crt \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_DEFAULT_TIMEOUT=180 \
    PIP_NO_CACHE_DIR=1
ARG VERSION
RUN python3 -m venv /opt/ha && /opt/ha/bin/pip install -q homeassistant==${VERSION}
COPY requirements_of.py /build/
# isal and zlib-ng are optional to it, but it warns without them; colorlog is for its check_config.
RUN /opt/ha/bin/python /build/requirements_of.py \
        mqtt llama_cpp conversation assist_pipeline recorder automation history logbook api config frontend \
        > /build/requirements.txt \
    && /opt/ha/bin/pip install -q -r /build/requirements.txt isal zlib-ng colorlog==6.10.1 \
        -c "$(/opt/ha/bin/python -c 'import homeassistant, pathlib; print(pathlib.Path(homeassistant.__file__).parent / "package_constraints.txt")')"

FROM ${BASE}
RUN apt-get -o Acquire::Check-Valid-Until=false update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        python3 libturbojpeg0 \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/archives/*.deb
COPY --from=build /opt/ha /opt/ha
# It asks ffmpeg for its version and logs an error where there is none; nothing here plays media.
RUN printf '#!/bin/sh\necho "ffmpeg version 7.1-stub"\n' > /usr/local/bin/ffmpeg && chmod 755 /usr/local/bin/ffmpeg
ENV PATH=/opt/ha/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
CMD ["hass", "-c", "/config", "--log-no-color"]
