"""Read what an audit looks at: the only part of this package that touches the disk or git."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from gauntlet.core.errors import ConfigError, UsageError
from gauntlet.core.git import git
from gauntlet.core.yaml_file import read_text
from gauntlet.pipelines.audit.model import AuditRequest
from gauntlet.pipelines.definitions.config import DefinitionFile
from gauntlet.pipelines.definitions.files import read_files
from gauntlet.pipelines.fleet import fleet_text
from gauntlet.pipelines.sources import FILE_LIST
from gauntlet.pipelines.timings import load_timings

_CONFIGS = "ci_config*.y*ml"
_WORKFLOWS = ".github/workflows"


def read_request(
    root: Path, config: str, *, tree: Path | None = None, timings: Path | None = None
) -> AuditRequest:
    """Read the definitions below ``root``, all other pipelines there, and the list of files.

    Without ``tree``, the list is FILES.txt in ``root``, or else what lies there. Raises UsageError
    for what is missing, ConfigError for what cannot be read.
    """
    files = read_files(root, config)
    listed = root / FILE_LIST
    paths = read_tree(tree or (listed if listed.is_file() else root))
    others, notes = _others(root, config)
    own = {file.path for file in files.jobs}
    return AuditRequest(
        files=files,
        others=tuple(file for path, file in sorted(others.items()) if path not in own),
        tree=paths,
        scripts=dict(_scripts(root, paths)),
        fleet=fleet_text(),
        timings=load_timings(timings) if timings else None,
        notes=notes,
    )


def read_tree(path: Path) -> tuple[str, ...]:
    """Return the files of a tree: a list of paths, a git checkout, or a folder, which is walked.

    Raises UsageError where there is no such tree or where it is empty, ConfigError for a list
    that cannot be read.
    """
    if path.is_file():
        found = tuple(line.removeprefix("./") for line in read_text(path).splitlines() if line)
    elif (path / ".git").exists():
        found = tuple(filter(None, git(path, "ls-files", "-z").split("\0")))
    elif path.is_dir():
        found = tuple(_walk(path))
    else:
        msg = f"no such file or folder: {path}"
        raise UsageError(msg, hint="--tree takes a folder, or a file with one path a line")
    if not found:
        msg = f"{path} names no files"
        raise UsageError(msg)
    return found


def _walk(root: Path) -> Iterator[str]:
    for folder, _, names in os.walk(root):
        prefix = Path(folder).relative_to(root)
        yield from ((prefix / name).as_posix() for name in names)


def _others(root: Path, config: str) -> tuple[dict[str, DefinitionFile], tuple[str, ...]]:
    """Files of the pipelines beside the chosen one, by path, and which cannot be read."""
    found: dict[str, DefinitionFile] = {}
    notes = []
    folder = (root / config).parent
    configs = {path for path in folder.glob(_CONFIGS) if path.is_file()}
    for path in sorted(configs - {root / config}):
        name = path.relative_to(root).as_posix()
        try:
            found |= {file.path: file for file in read_files(root, name).jobs}
        except (ConfigError, UsageError) as error:
            notes.append(f"the pipeline of {name} is left out: {error.message}")
    plain = [path for path in sorted(folder.glob("*.y*ml")) if path not in configs]
    workflows = sorted((root / _WORKFLOWS).glob("*.y*ml"))
    for path in filter(Path.is_file, (*plain, *workflows)):
        name = path.relative_to(root).as_posix()
        text = path.read_bytes().decode("utf-8", "surrogateescape")
        found[name] = DefinitionFile(path=name, text=text)
    return found, tuple(notes)


def _scripts(root: Path, paths: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Text of every shell script of the tree that lies on disk."""
    for path in paths:
        script = root / path
        if path.endswith(".sh") and script.is_file():
            yield path, script.read_text(encoding="utf-8", errors="replace")
