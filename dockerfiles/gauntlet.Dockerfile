# Gauntlet's own images: what agents, the pages and scheduled jobs run.
#
#   base ─► installer (pip)
#        ├► build (the wheel)
#        └► runtime ─► hud
#                   └► tools (git) ─► agent | cron | test
#
# Most commands are JSON lists, which need no shell. Labels, the times of files and the index that
# packages come from are given by the builder: `gauntlet images build`, or docker-bake.hcl.

ARG PYTHON_BASE

FROM ${PYTHON_BASE} AS base
# Compiled Python holds times, and caches of pip hold nothing that is needed again.
ENV PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_CACHE_DIR=1 \
    PIP_ROOT_USER_ACTION=ignore \
    PATH=/opt/gauntlet/bin:/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin
RUN ["python3", "-m", "venv", "--without-pip", "/opt/gauntlet"]


# What installs is pinned itself, and is in no image: it is mounted where it is needed.
FROM base AS installer
RUN --mount=type=secret,id=pip,target=/etc/pip.conf \
    --mount=type=bind,source=lockfiles/pip.txt,target=/run/lock.txt \
    python3 -m venv --without-pip /opt/installer \
    && pip --python /opt/installer/bin/python install --no-compile --no-deps --require-hashes --requirement /run/lock.txt


FROM base AS build
ARG SOURCE_DATE_EPOCH
WORKDIR /src
RUN --mount=type=bind,from=installer,source=/opt/installer,target=/opt/installer \
    --mount=type=secret,id=pip,target=/etc/pip.conf \
    --mount=type=bind,source=lockfiles/build.txt,target=/run/lock.txt \
    ["/opt/installer/bin/pip", "--python", "/opt/gauntlet/bin/python", "install", "--no-compile", "--no-deps", "--require-hashes", "--requirement", "/run/lock.txt"]
COPY pyproject.toml README.md CHANGELOG.md LICENSE ./
COPY src src
COPY core core
COPY services services
COPY perf_eval perf_eval
COPY warehouse warehouse
COPY locks locks
COPY images images
COPY pipelines pipelines
COPY harness harness
COPY analyzer analyzer
COPY release release
COPY hud hud
COPY demo demo
RUN ["hatchling", "build", "--target", "wheel", "--directory", "/dist"]


# What is tested shares all of this with what runs.
FROM base AS runtime
RUN ["python3", "-c", "import os; open('/etc/passwd', 'a').write('gauntlet:x:10001:10001::/home/gauntlet:/usr/sbin/nologin\\n'); open('/etc/group', 'a').write('gauntlet:x:10001:\\n'); os.makedirs('/home/gauntlet'); os.chown('/home/gauntlet', 10001, 10001)"]
ENV HOME=/home/gauntlet
WORKDIR /home/gauntlet


# Selection, bisects and reverts work on repositories.
FROM runtime AS tools
# The versions are those of the pinned snapshot that the secret `apt` names.
# hadolint ignore=DL3008
RUN --mount=type=secret,id=apt,target=/etc/apt/sources.list.d/pinned.sources \
    apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates git \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/cache/debconf/*-old /var/cache/ldconfig/aux-cache \
       /var/log/apt /var/log/dpkg.log /var/log/alternatives.log


FROM tools AS agent
RUN --mount=type=bind,from=installer,source=/opt/installer,target=/opt/installer \
    --mount=type=secret,id=pip,target=/etc/pip.conf \
    --mount=type=bind,source=lockfiles/agent.txt,target=/run/lock.txt \
    ["/opt/installer/bin/pip", "--python", "/opt/gauntlet/bin/python", "install", "--no-compile", "--no-deps", "--require-hashes", "--requirement", "/run/lock.txt"]
# The wheel of the stage above: there is one version of it.
# hadolint ignore=DL3013
RUN --mount=type=bind,from=installer,source=/opt/installer,target=/opt/installer \
    --mount=type=bind,from=build,source=/dist,target=/dist \
    ["/opt/installer/bin/pip", "--python", "/opt/gauntlet/bin/python", "install", "--no-compile", "--no-deps", "--no-index", "--find-links", "/dist", "gauntlet"]
USER 10001:10001
ENTRYPOINT ["gauntlet"]


# It listens on loopback alone: the proxy that lets people in shares its network.
FROM runtime AS hud
RUN --mount=type=bind,from=installer,source=/opt/installer,target=/opt/installer \
    --mount=type=secret,id=pip,target=/etc/pip.conf \
    --mount=type=bind,source=lockfiles/hud.txt,target=/run/lock.txt \
    ["/opt/installer/bin/pip", "--python", "/opt/gauntlet/bin/python", "install", "--no-compile", "--no-deps", "--require-hashes", "--requirement", "/run/lock.txt"]
# The wheel of the stage above: there is one version of it.
# hadolint ignore=DL3013
RUN --mount=type=bind,from=installer,source=/opt/installer,target=/opt/installer \
    --mount=type=bind,from=build,source=/dist,target=/dist \
    ["/opt/installer/bin/pip", "--python", "/opt/gauntlet/bin/python", "install", "--no-compile", "--no-deps", "--no-index", "--find-links", "/dist", "gauntlet"]
USER 10001:10001
ENTRYPOINT ["gauntlet", "hud", "--no-browser"]


FROM tools AS cron
RUN --mount=type=bind,from=installer,source=/opt/installer,target=/opt/installer \
    --mount=type=secret,id=pip,target=/etc/pip.conf \
    --mount=type=bind,source=lockfiles/cron.txt,target=/run/lock.txt \
    --mount=type=bind,source=lockfiles/build-constraints.txt,target=/run/build-constraints.txt \
    ["/opt/installer/bin/pip", "--python", "/opt/gauntlet/bin/python", "install", "--no-compile", "--no-deps", "--require-hashes", "--build-constraint", "/run/build-constraints.txt", "--requirement", "/run/lock.txt"]
# The wheel of the stage above: there is one version of it.
# hadolint ignore=DL3013
RUN --mount=type=bind,from=installer,source=/opt/installer,target=/opt/installer \
    --mount=type=bind,from=build,source=/dist,target=/dist \
    ["/opt/installer/bin/pip", "--python", "/opt/gauntlet/bin/python", "install", "--no-compile", "--no-deps", "--no-index", "--find-links", "/dist", "gauntlet"]
USER 10001:10001
ENTRYPOINT ["gauntlet"]


# The tests themselves are mounted: they belong to the commit that is tested.
FROM tools AS test
RUN --mount=type=bind,from=installer,source=/opt/installer,target=/opt/installer \
    --mount=type=secret,id=pip,target=/etc/pip.conf \
    --mount=type=bind,source=lockfiles/dev.txt,target=/run/lock.txt \
    --mount=type=bind,source=lockfiles/build-constraints.txt,target=/run/build-constraints.txt \
    ["/opt/installer/bin/pip", "--python", "/opt/gauntlet/bin/python", "install", "--no-compile", "--no-deps", "--require-hashes", "--build-constraint", "/run/build-constraints.txt", "--requirement", "/run/lock.txt"]
# The wheel of the stage above: there is one version of it.
# hadolint ignore=DL3013
RUN --mount=type=bind,from=installer,source=/opt/installer,target=/opt/installer \
    --mount=type=bind,from=build,source=/dist,target=/dist \
    ["/opt/installer/bin/pip", "--python", "/opt/gauntlet/bin/python", "install", "--no-compile", "--no-deps", "--no-index", "--find-links", "/dist", "gauntlet"]
USER 10001:10001
ENTRYPOINT ["python3", "-m", "pytest"]
