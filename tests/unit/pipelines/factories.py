"""Small source trees, jobs and archives for the tests of the pipelines package."""

import io
import tarfile
from pathlib import Path

from gauntlet.pipelines.artifacts import Engine
from gauntlet.pipelines.changes import ChangedFile, ChangeSet
from gauntlet.pipelines.decide import DecideRequest
from gauntlet.pipelines.decisions import Options
from gauntlet.pipelines.definitions.config import DefinitionFile
from gauntlet.pipelines.definitions.files import DefinitionFiles
from gauntlet.pipelines.definitions.job import Definitions, Job, Tier
from gauntlet.pipelines.definitions.loader import parse_definitions
from gauntlet.pipelines.fleet import fleet_text

CONFIG = """\
name: tiny_ci
job_dirs: [.buildkite/images, .buildkite/areas]
run_all_patterns: ["setup.py", "csrc/"]
run_all_exclude_patterns: ["csrc/cpu/"]
"""
IMAGES = """\
group: Images
steps:
- label: ":docker: Build image"
  key: image-build
  depends_on: []
  timeout_in_minutes: 600
  commands: ['bash build.sh $REGISTRY "$BUILDKITE_COMMIT"']
- label: Smoke
  key: image-build-smoke
  depends_on: [image-build]
  commands: [docker run --rm "$IMAGE_TAG" true]
- label: Build AMD
  key: image-build-amd
  device: amd_cpu
  depends_on: [ensure-ci-base-amd]
  commands: [bash bake.sh]
- label: AMD base
  key: ensure-ci-base-amd
  device: amd_cpu
  commands: [bash base.sh]
"""
AREAS = """\
group: Areas
depends_on: [image-build]
steps:
- label: Sampler %N
  key: sampler
  device: h200_18gb
  parallelism: 2
  source_file_dependencies: [engine/sample/, "!engine/sample/experimental"]
  commands:
  - pytest -v -s v1/sample -m 'not slow' --shard-id=$$BUILDKITE_PARALLEL_JOB
  mirror:
    amd:
      device: mi325_1
      depends_on: [image-build-amd]
      source_file_dependencies: [engine/platforms/rocm.py]
- label: Engine (2 GPUs)
  num_devices: 2
  source_file_dependencies: [engine]
  commands: [pytest -v -s engine --ignore=engine/test_slow.py]
- label: Large
  key: large
  device: h100
  optional: true
  source_file_dependencies: [engine/]
  commands: [pytest large]
- label: Undeclared
  device: cpu-small
  commands: [bash check.sh]
"""
TINY = {
    ".buildkite/images/images.yaml": IMAGES,
    ".buildkite/areas/areas.yaml": AREAS,
}
TINY_KEYS = {
    "image-build",
    "image-build-smoke",
    "image-build-amd",
    "ensure-ci-base-amd",
    "sampler",
    "amd-sampler",
    "engine-2-gpus",
    "large",
    "undeclared",
}


def files(jobs: dict[str, str] | None = None, config: str = CONFIG) -> DefinitionFiles:
    texts = TINY if jobs is None else jobs
    return DefinitionFiles(
        config=DefinitionFile(path=".buildkite/ci_config.yaml", text=config),
        jobs=tuple(DefinitionFile(path=path, text=texts[path]) for path in sorted(texts)),
    )


def definitions(jobs: dict[str, str] | None = None, config: str = CONFIG) -> Definitions:
    return parse_definitions(files(jobs, config))


def one_file(text: str) -> Definitions:
    return definitions({".buildkite/areas/one.yaml": text})


def request(*paths, jobs=None, config=CONFIG, **asked) -> DecideRequest:
    return DecideRequest(
        engine=Engine(name="engine", version="1.0"),
        files=files(jobs, config),
        changes=changes(*paths),
        options=options(**asked),
        fleet=fleet_text(),
    )


def changes(*items: str | ChangedFile) -> ChangeSet:
    files = (item if isinstance(item, ChangedFile) else ChangedFile(path=item) for item in items)
    return ChangeSet(files=tuple(files))


def options(*, nightly: bool = False, **asked) -> Options:
    return Options(**({"tier": Tier.NIGHTLY} if nightly else {}), **asked)


def job(key: str = "job", **fields) -> Job:
    defaults = {"label": key, "group": "G", "file": "g.yaml", "commands": ("true",)}
    return Job(key=key, **(defaults | fields))


def make_definitions(*jobs: Job, run_all: tuple[str, ...] = ()) -> Definitions:
    return Definitions(
        name="made", run_all_patterns=run_all, run_all_exclude_patterns=(), jobs=jobs, broken=()
    )


def write_tree(root: Path, jobs: dict[str, str] | None = None, config: str = CONFIG) -> Path:
    texts = {".buildkite/ci_config.yaml": config, **(TINY if jobs is None else jobs)}
    for path, text in texts.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    return root


def sdist(path: Path, members: dict[str, str], *, links: dict[str, str] | None = None) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, text in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(text.encode())
            archive.addfile(info, io.BytesIO(text.encode()))
        for name, target in (links or {}).items():
            info = tarfile.TarInfo(name)
            info.type = tarfile.SYMTYPE
            info.linkname = target
            archive.addfile(info)
    return path
