# The engine for every accelerator: the same stages, so the same ancestry, for all of them.
#
#   base (toolchain) ─► build (the wheel) ─┐ the wheel alone
#   runtime (its dependencies, the wheel) ◄┘ ─► release | test
#
# What differs between accelerators (base images, packages, locks, the device) comes as arguments
# from images.yaml. The engine's source is the context named `engine`. The context named `torch`
# has wheels that no lock can pin: builds of torch and its companions from the accelerator's own index.

ARG TOOLCHAIN_BASE
ARG RUNTIME_BASE

FROM ${TOOLCHAIN_BASE} AS base
ARG BUILD_PACKAGES
ARG LOCK
ARG BUILD_LOCK
ENV PYTHONDONTWRITEBYTECODE=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_CACHE_DIR=1 \
    PIP_ROOT_USER_ACTION=ignore
SHELL ["/bin/bash", "-o", "errexit", "-o", "pipefail", "-c"]
# The versions are those of the pinned snapshot that the secret `apt` names; several packages.
# hadolint ignore=DL3008,SC2086
RUN --mount=type=secret,id=apt,target=/etc/apt/sources.list.d/pinned.sources \
    apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends ${BUILD_PACKAGES} \
    && rm -rf /var/lib/apt/lists/*
# The wheel is compiled against the very torch that it runs with: the runtime's lock comes first.
COPY lockfiles/${LOCK}.txt lockfiles/${BUILD_LOCK}.txt /opt/locks/
RUN --mount=type=secret,id=pip,target=/etc/pip.conf \
    python3 -m venv /opt/build \
    && /opt/build/bin/pip install --no-compile --no-deps --require-hashes --requirement "/opt/locks/${LOCK}.txt" \
    && /opt/build/bin/pip install --no-compile --no-deps --require-hashes --requirement "/opt/locks/${BUILD_LOCK}.txt"
RUN --mount=type=bind,from=torch,target=/torch \
    find /torch -maxdepth 1 -name '*.whl' -exec /opt/build/bin/pip install --no-compile --no-deps --no-index '{}' +
ENV PATH=/opt/build/bin:${PATH}


FROM base AS build
ARG DEVICE
ARG ARCHITECTURES=""
ARG ENGINE_VERSION
ARG SOURCE_DATE_EPOCH
ARG TARGETARCH
# Builds of main fill the compiler's cache; all others only read it, so that none can poison it.
ARG SCCACHE_MODE=READ_ONLY
ARG SCCACHE_BUCKET=""
ARG SCCACHE_REGION=""
WORKDIR /src
# A context by name, which the builder gives.
# hadolint ignore=DL3022
COPY --from=engine . .
RUN --mount=type=cache,id=sccache-${DEVICE}-${TARGETARCH},target=/var/cache/sccache,sharing=shared \
    --mount=type=secret,id=sccache,target=/root/.aws/credentials \
    if [ -n "${SCCACHE_BUCKET}" ]; then export SCCACHE_BUCKET SCCACHE_REGION; else unset SCCACHE_BUCKET SCCACHE_REGION; fi \
    && export SCCACHE_DIR=/var/cache/sccache \
       SCCACHE_LOCAL_RW_MODE="${SCCACHE_MODE}" \
       SCCACHE_S3_RW_MODE="${SCCACHE_MODE}" \
       CMAKE_C_COMPILER_LAUNCHER=sccache \
       CMAKE_CXX_COMPILER_LAUNCHER=sccache \
       CMAKE_CUDA_COMPILER_LAUNCHER=sccache \
       CMAKE_HIP_COMPILER_LAUNCHER=sccache \
       VLLM_TARGET_DEVICE="${DEVICE}" \
       TORCH_CUDA_ARCH_LIST="${ARCHITECTURES}" \
       PYTORCH_ROCM_ARCH="${ARCHITECTURES}" \
       SETUPTOOLS_SCM_PRETEND_VERSION="${ENGINE_VERSION}" \
    && pip wheel --no-deps --no-build-isolation --no-index --wheel-dir /dist /src \
    && sccache --show-stats


# All that is tested and all that is shipped starts from here.
FROM ${RUNTIME_BASE} AS runtime
ARG RUNTIME_PACKAGES
ARG LOCK
ENV PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_CACHE_DIR=1 \
    PIP_ROOT_USER_ACTION=ignore
SHELL ["/bin/bash", "-o", "errexit", "-o", "pipefail", "-c"]
# hadolint ignore=DL3008,SC2086
RUN --mount=type=secret,id=apt,target=/etc/apt/sources.list.d/pinned.sources \
    apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends ${RUNTIME_PACKAGES} \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/cache/debconf/*-old /var/cache/ldconfig/aux-cache \
       /var/log/apt /var/log/dpkg.log /var/log/alternatives.log
COPY lockfiles/${LOCK}.txt /opt/locks/
RUN --mount=type=secret,id=pip,target=/etc/pip.conf \
    python3 -m venv --without-pip /opt/engine \
    && pip --python /opt/engine/bin/python install --no-compile --no-deps --require-hashes --requirement "/opt/locks/${LOCK}.txt"
RUN --mount=type=bind,from=torch,target=/torch \
    find /torch -maxdepth 1 -name '*.whl' -exec pip --python /opt/engine/bin/python install --no-compile --no-deps --no-index '{}' +
# What was built takes the place of whatever has its version.
RUN --mount=type=bind,from=build,source=/dist,target=/dist \
    pip --python /opt/engine/bin/python install --no-compile --force-reinstall --no-deps --no-index /dist/*.whl
RUN echo 'engine:x:10001:10001::/home/engine:/usr/sbin/nologin' >> /etc/passwd \
    && echo 'engine:x:10001:' >> /etc/group \
    && install --directory --owner=10001 --group=10001 /home/engine
ENV PATH=/opt/engine/bin:${PATH} \
    HOME=/home/engine
WORKDIR /home/engine


FROM runtime AS release
EXPOSE 8000
USER 10001:10001
ENTRYPOINT ["vllm", "serve"]


# A pip that knows constraints of builds, pinned, and in no image.
FROM runtime AS installer
RUN --mount=type=secret,id=pip,target=/etc/pip.conf \
    --mount=type=bind,source=lockfiles/pip.txt,target=/run/pip.txt \
    python3 -m venv --without-pip /opt/installer \
    && pip --python /opt/installer/bin/python install --no-compile --no-deps --require-hashes --requirement /run/pip.txt


# The same runtime, and what tests need besides. The tests themselves are mounted.
FROM runtime AS test
ARG TEST_LOCK
COPY lockfiles/${TEST_LOCK}.txt /opt/locks/
RUN --mount=type=bind,from=installer,source=/opt/installer,target=/opt/installer \
    --mount=type=secret,id=pip,target=/etc/pip.conf \
    --mount=type=bind,source=lockfiles/build-constraints.txt,target=/run/build-constraints.txt \
    /opt/installer/bin/pip --python /opt/engine/bin/python install --no-compile --no-deps --require-hashes --build-constraint /run/build-constraints.txt --requirement "/opt/locks/${TEST_LOCK}.txt"
USER 10001:10001
ENTRYPOINT ["python3", "-m", "pytest"]
