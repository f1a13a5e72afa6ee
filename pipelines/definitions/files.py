"""Read definition files as text: the only part of this package that touches the disk."""

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Protocol

from gauntlet.core.errors import ConfigError, Problem, UsageError
from gauntlet.core.git import find_commit, git
from gauntlet.pipelines.definitions.config import DefinitionFile, parse_config

_CONFIGS = "ci_config*.yaml"
_SUFFIXES = (".yaml", ".yml")


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinitionFiles:
    """The configuration of one pipeline and the job files that it names, sorted by path.

    ``others`` are the configurations of other pipelines beside it.
    """

    config: DefinitionFile
    jobs: tuple[DefinitionFile, ...]
    others: tuple[DefinitionFile, ...] = ()


class Tree(Protocol):
    """A source tree: a folder, or a commit."""

    @property
    def name(self) -> str:
        """What messages call it."""
        ...

    def list(self, folder: str) -> Iterator[str]:
        """Paths of all files below a folder, relative to the tree; none where it is absent."""
        ...

    def beside(self, path: str) -> Iterator[str]:
        """Paths of all files in the same folder as this one."""
        ...

    def read(self, path: str) -> str | None:
        """Text of a file, odd bytes as surrogates; None where there is none."""
        ...


@dataclass(frozen=True, slots=True)
class FolderTree:
    """A tree that lies on disk."""

    root: Path

    @property
    def name(self) -> str:
        """The folder."""
        return str(self.root)

    def list(self, folder: str) -> Iterator[str]:
        """Paths of all files below a folder."""
        for path in (self.root / folder).rglob("*"):
            if path.is_file():
                yield path.relative_to(self.root).as_posix()

    def beside(self, path: str) -> Iterator[str]:
        """Paths of all files in the same folder as this one."""
        for entry in (self.root / path).parent.iterdir():
            if entry.is_file():
                yield entry.relative_to(self.root).as_posix()

    def read(self, path: str) -> str | None:
        """Text of a file. Raises ConfigError where it is there and cannot be read."""
        try:
            raw = (self.root / path).read_bytes()
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            return None
        except OSError as error:
            message = error.strerror or "unreadable"
            raise ConfigError([Problem(file=path, message=message)]) from error
        return raw.decode("utf-8", "surrogateescape")


@dataclass(frozen=True, slots=True)
class CommitTree:
    """The tree of a commit, read from git's object store without a checkout."""

    repository: Path
    revision: str

    @property
    def name(self) -> str:
        """The revision."""
        return self.revision

    def list(self, folder: str) -> Iterator[str]:
        """Paths of all files below a folder."""
        arguments = ("ls-tree", "-r", "-z", "--name-only", self.revision, "--", folder)
        yield from filter(None, git(self.repository, *arguments).split("\0"))

    def beside(self, path: str) -> Iterator[str]:
        """Paths of all files in the same folder as this one."""
        folder = str(PurePosixPath(path).parent)
        arguments = ("ls-tree", "-z", "--name-only", self.revision, "--", f"{folder}/")
        yield from filter(None, git(self.repository, *arguments).split("\0"))

    def read(self, path: str) -> str | None:
        """Text of a file."""
        try:
            return git(self.repository, "show", f"{self.revision}:{path}", errors="surrogateescape")
        except UsageError:
            return None


def read_files(root: Path, config: str) -> DefinitionFiles:
    """Read a pipeline's configuration and all job files below its folders.

    Raises UsageError for a missing folder, ConfigError for a configuration that cannot be read.
    """
    return _read_files(FolderTree(root), config)


def read_files_at(repository: Path, revision: str, config: str) -> DefinitionFiles:
    """Read them as they are in a commit. Raises UsageError for an unknown revision, too."""
    commit = find_commit(repository, revision)
    if commit is None:
        msg = f"git knows no commit {revision!r} in {repository}"
        raise UsageError(msg, hint="give a commit, a tag or a branch of that checkout")
    return _read_files(CommitTree(repository, commit), config)


def _read_files(tree: Tree, config: str) -> DefinitionFiles:
    text = tree.read(config)
    if text is None:
        msg = f"no pipeline configuration {config} in {tree.name}"
        raise UsageError(msg, hint="give the root of a source tree, and --config relative to it")
    config_file = DefinitionFile(path=config, text=text)
    paths: set[str] = set()
    parsed = parse_config(config_file)
    for folder in parsed.job_dirs:
        paths.update(_job_files(tree, folder, config))
    if parsed.language == "legacy":
        return DefinitionFiles(config=config_file, jobs=(config_file,))
    return DefinitionFiles(
        config=config_file,
        jobs=tuple(_read(tree, path) for path in sorted(paths)),
        others=tuple(_read(tree, path) for path in _other_configs(tree, config)),
    )


def _other_configs(tree: Tree, config: str) -> list[str]:
    beside = (path for path in tree.beside(config) if path != config)
    return sorted(path for path in beside if fnmatchcase(PurePosixPath(path).name, _CONFIGS))


def _job_files(tree: Tree, folder: str, config: str) -> list[str]:
    found = [path for path in tree.list(folder) if PurePosixPath(path).suffix in _SUFFIXES]
    if not found:
        msg = f"{config} names the job folder {folder}, which holds no YAML file in {tree.name}"
        raise UsageError(msg, hint="check job_dirs, or use a complete source tree")
    return found


def _read(tree: Tree, path: str) -> DefinitionFile:
    text = tree.read(path)
    if text is None:
        raise ConfigError([Problem(file=path, message="the file went away while it was read")])
    return DefinitionFile(path=path, text=text)
