"""The engine's source tree: where its job definitions and its list of files come from.

Two ways lead to an :class:`EngineSource`: a folder that somebody has (``open_source``) and the
source distribution on the Python package index (``fetch_source``), read once and then cached.
"""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path

from gauntlet.core.errors import UsageError, nearest
from gauntlet.core.yaml_file import StrictModel, parse_yaml, validate_model

CONFIG_PATH = ".buildkite/ci_config.yaml"
DEFAULT_NAME = "vllm"
DEFAULT_VERSION = "0.25.0"
FILE_LIST = "FILES.txt"
MARKER = ".gauntlet-source.json"

Progress = Callable[[int, int], None]
"""Called with bytes done and bytes in total (0 where the total is not known)."""


@dataclass(frozen=True, kw_only=True)
class EngineSource:
    """A source tree on disk."""

    root: Path
    name: str
    version: str | None

    @cached_property
    def files(self) -> tuple[str, ...]:
        """All paths of the tree, sorted; read when they are asked for."""
        return _list_files(self.root)


class SourcePin(StrictModel):
    """What a known source distribution must look like; ``size`` is in bytes."""

    name: str
    version: str
    sha256: str
    size: int


class _SourcePins(StrictModel):
    sources: tuple[SourcePin, ...]


def load_pins() -> dict[tuple[str, str], SourcePin]:
    """Read the pinned source distributions, by name and version."""
    text = resources.files("gauntlet.pipelines").joinpath("engine_sources.yaml").read_text("utf-8")
    table = validate_model(parse_yaml(text, file="engine_sources.yaml"), _SourcePins)
    return {(pin.name, pin.version): pin for pin in table.sources}


def default_cache() -> Path:
    """Folder where fetched sources are kept: below XDG_CACHE_HOME, or else ~/.cache."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "gauntlet"


def open_source(root: Path, *, name: str = DEFAULT_NAME, config: str = CONFIG_PATH) -> EngineSource:
    """Use a source tree that lies on disk.

    Raises UsageError where the folder is absent or holds no pipeline configuration.
    """
    if not root.is_dir():
        msg = f"no such folder: {root}"
        raise UsageError(msg, hint="give the root of a source tree of the engine")
    if not (root / config).is_file():
        beside = (
            path.relative_to(root).as_posix() for path in (root / config).parent.glob("*.y*ml")
        )
        close = nearest(config, beside)
        msg = f"{root} holds no {config}" + (f"; did you mean {close!r}?" if close else "")
        raise UsageError(msg, hint=f"expected the root of a source tree, with {config} in it")
    return EngineSource(root=root, name=name, version=None)


def fetch_source(
    *,
    name: str = DEFAULT_NAME,
    version: str = DEFAULT_VERSION,
    cache_dir: Path,
    progress: Progress | None = None,
    index_url: str | None = None,
    pins: dict[tuple[str, str], SourcePin] | None = None,
) -> EngineSource:
    """Return the source of one engine version, from the cache or else from the package index.

    ``index_url`` is a simple-API endpoint; without it, pip's PIP_INDEX_URL or its default.
    Raises UsageError for a version that does not exist, ExternalServiceError where the index
    does not answer or sends something other than it announced.
    """
    _check_name(name, version)
    store = cache_dir / "engine-sources"
    tree = store / f"{name}-{version}"
    if not (tree / MARKER).is_file():
        # The network client and the archive reader load only when they are needed.
        from gauntlet.pipelines import archive, index

        pin = (load_pins() if pins is None else pins).get((name, version))
        tarball = index.ensure_sdist(
            name=name,
            version=version,
            store=store,
            pin=pin,
            progress=progress,
            endpoint=index_url or os.environ.get("PIP_INDEX_URL"),
        )
        archive.unpack_definitions(tarball, tree)
    marker = json.loads((tree / MARKER).read_text(encoding="utf-8"))
    return EngineSource(root=tree, name=marker["name"], version=marker["version"])


def _check_name(name: str, version: str) -> None:
    """Refuse names that would leave the cache folder or that the index cannot know."""
    from packaging.utils import canonicalize_name
    from packaging.version import InvalidVersion, Version

    try:
        Version(version)
    except InvalidVersion as error:
        msg = f"not a version: {version!r}"
        raise UsageError(msg, hint="write it as the package index does, such as 0.25.0") from error
    if canonicalize_name(name) != name or "/" in name:
        msg = f"not a package name: {name!r}"
        raise UsageError(msg)


def _list_files(root: Path) -> tuple[str, ...]:
    """Return all files below ``root``: from its list where there is one, else by walking."""
    listed = root / FILE_LIST
    if listed.is_file():
        return tuple(sorted(filter(None, listed.read_text(encoding="utf-8").split("\n"))))
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = [entry for entry in folders if entry != ".git"]
        prefix = Path(folder).relative_to(root)
        found += [(prefix / entry).as_posix() for entry in names]
    return tuple(sorted(found))
