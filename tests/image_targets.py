"""A small repository with images: a Dockerfile, its manifest, a lock, files that are copied."""

import json
import textwrap
from datetime import UTC, datetime

from gauntlet.images.model import BASES, FILE, Images
from gauntlet.images.revisions import Revisions

CREATED = datetime(2026, 11, 20, 12, tzinfo=UTC)
REVISIONS = Revisions(
    commit="c" * 40,
    parent="p" * 40,
    merge_base="m" * 40,
    branch="feature/x y",
    created=CREATED,
)
DIGEST = f"sha256:{'a' * 64}"
DOCKERFILE = """\
ARG PYTHON_BASE
FROM ${PYTHON_BASE} AS base
ENV LANG=C

FROM base AS build
COPY source /source
RUN ["python3", "/source/make.py"]

FROM base AS runtime
ARG LOCK
COPY lockfiles/${LOCK}.txt /lock.txt
RUN ["pip", "install", "--require-hashes", "--requirement", "/lock.txt"]
RUN --mount=type=bind,from=build,source=/dist,target=/dist \\
    ["pip", "install", "--no-index", "--find-links", "/dist", "small"]

FROM runtime AS release
USER 10001:10001
ENTRYPOINT ["small"]

FROM runtime AS test
USER 10001:10001
ENTRYPOINT ["python3", "-m", "pytest"]
"""
_TARGET = """\
  {name}:
    purpose: A small one.
    kind: {kind}
    dockerfile: Dockerfile
    stage: {kind}
    repository: acme/{name}
    platforms: [linux/amd64]
    bases: {{PYTHON_BASE: python}}
    args: {{LOCK: small}}
    locks: [small]
    packages: [small]
    environment: opt/small
    secrets: [pip]
    toolchain: [build]
"""


def a_repository(folder, *, dockerfile=DOCKERFILE, digest=DIGEST, more=""):
    """Write it, and read it."""
    targets = [
        _TARGET.format(name=f"small{end}", kind=kind)
        for end, kind in (("", "release"), ("-test", "test"))
    ]
    text = textwrap.dedent("""\
        gauntlet: 1
        title: small
        source: https://code.example.org/acme/small
        unkeyed_args: [SPEED]
        retention:
          {key_days: 30, commit_days: 14, branch_cache_days: 7, keep_newest_of_main: 2, keep: [v*]}
        warm: {targets: [small], keep_old: 2, parameter: /ci/image}
        targets:
        """)
    base = {"image": "python", "tag": "3", "digest": digest, "platforms": ["linux/amd64"]}
    files = {
        FILE: text + "".join(targets) + more,
        BASES: json.dumps({"gauntlet": 1, "bases": {"python": base}}),
        "Dockerfile": dockerfile,
        "source/make.py": "print('made')\n",
        "source/deep/data.txt": "data\n",
        "lockfiles/small.txt": "colour==1.0 \\\n    --hash=sha256:00\n",
        "lockfiles/other.txt": "other==1.0 \\\n    --hash=sha256:00\n",
        "README.md": "nobody copies it\n",
    }
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(content)
    return Images(folder)
