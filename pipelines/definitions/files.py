"""Read definition files as text: the only part of this package that touches the disk."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from gauntlet.core.errors import ConfigError, Problem, UsageError
from gauntlet.core.yaml_file import parse_yaml, validate_model
from gauntlet.pipelines.definitions.models import CiConfig

_SUFFIXES = (".yaml", ".yml")


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinitionFile:
    """One file, by its path in the source tree. Bytes that are not UTF-8 survive as surrogates."""

    path: str
    text: str

    @property
    def sha256(self) -> str:
        """Hash of the bytes on disk, in hex."""
        return hashlib.sha256(self.text.encode("utf-8", "surrogateescape")).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinitionFiles:
    """The configuration of one pipeline and the job files that it names, sorted by path."""

    config: DefinitionFile
    jobs: tuple[DefinitionFile, ...]


def read_files(root: Path, config: str) -> DefinitionFiles:
    """Read a pipeline's configuration and all job files below its folders.

    Raises UsageError for a missing folder, ConfigError for a configuration that cannot be read.
    """
    if not (root / config).is_file():
        msg = f"no pipeline configuration {config} in {root}"
        raise UsageError(msg, hint="give the root of a source tree, and --config relative to it")
    config_file = _read(root, config)
    parsed = parse_config(config_file)
    paths: set[str] = set()
    for folder in parsed.job_dirs:
        paths.update(_job_files(root, folder, config))
    return DefinitionFiles(
        config=config_file, jobs=tuple(_read(root, path) for path in sorted(paths))
    )


def parse_config(file: DefinitionFile) -> CiConfig:
    """Parse the pipeline's configuration. Raises ConfigError with every problem in it."""
    check_text(file)
    return validate_model(parse_yaml(file.text, file=file.path), CiConfig)


def check_text(file: DefinitionFile) -> None:
    """Raise ConfigError where a file is not UTF-8 text."""
    try:
        file.text.encode()
    except UnicodeEncodeError as error:
        line = file.text.count("\n", 0, error.start) + 1
        problem = Problem(file=file.path, line=line, message="not UTF-8 text")
        raise ConfigError([problem]) from error


def _job_files(root: Path, folder: str, config: str) -> list[str]:
    base = root / folder
    if not base.is_dir():
        msg = f"{config} names the job folder {folder}, which is not in {root}"
        raise UsageError(msg, hint="check job_dirs, or use a complete source tree")
    return [
        path.relative_to(root).as_posix()
        for path in base.rglob("*")
        if path.suffix in _SUFFIXES and path.is_file()
    ]


def _read(root: Path, path: str) -> DefinitionFile:
    try:
        raw = (root / path).read_bytes()
    except OSError as error:
        raise ConfigError([Problem(file=path, message=error.strerror or "unreadable")]) from error
    return DefinitionFile(path=path, text=raw.decode("utf-8", "surrogateescape"))
