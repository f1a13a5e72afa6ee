"""``locks.yaml``: which locks there are, what each is compiled from, for which platforms."""

from datetime import date
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from gauntlet.core.errors import ConfigError, Problem, UsageError, unknown_name
from gauntlet.core.yaml_file import StrictModel, load_yaml, validate_model

FILE = "lockfiles/locks.yaml"
RECORD = "index.json"
HOLDS = "holds.txt"
_START = (
    "go to the root of the repository, give --root, or write one: docs/how-to/keep-locks-fresh.md"
)

Platform = Literal["linux/amd64", "linux/arm64"]
Resolver = Literal["uv", "pip-tools"]
PythonVersion = Annotated[str, Field(pattern=r"^3\.[0-9]{1,2}$")]
LockName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")]


class Install(StrictModel):
    """Which jobs install what of a lock: the closure of ``roots``, or all of it without them.

    ``jobs`` are keys of jobs, ``*`` and ``?`` as in file names.
    """

    jobs: tuple[str, ...] = Field(min_length=1)
    roots: tuple[str, ...] = ()


class LockSpec(StrictModel):
    """One lock. Paths are relative to the repository."""

    purpose: str
    inputs: tuple[str, ...] = Field(min_length=1)
    all_extras: bool = False
    extras: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    overrides: tuple[str, ...] = ()
    build_constraints: tuple[str, ...] = ()
    python: PythonVersion | None = None
    platforms: tuple[Platform, ...] = ("linux/amd64",)
    glibc: Annotated[str, Field(pattern=r"^2\.[0-9]{1,2}$")] = "2.28"
    """Of the oldest image that the lock is installed in; wheels for a later one do not count."""
    sdists: tuple[str, ...] = ()
    """Packages that may come as source alone."""
    installs: tuple[Install, ...] = ()
    resolver: Resolver | None = None

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.all_extras and self.extras:
            message = "all_extras or extras, not both"
            raise ValueError(message)
        return self


class AcceptedAdvisory(StrictModel):
    """An advisory that a lock may have until a day, and why."""

    id: str
    reason: str
    until: date


class LocksManifest(StrictModel):
    """All locks of a repository, by name; each lies beside this file as ``NAME.txt``."""

    gauntlet: Literal[1]
    python: PythonVersion = "3.11"
    resolver: Resolver = "uv"
    locks: dict[LockName, LockSpec] = Field(min_length=1)
    accepted: tuple[AcceptedAdvisory, ...] = ()

    def python_of(self, name: str) -> str:
        """The Python that a lock is for, as ``3.11``."""
        return self.locks[name].python or self.python

    def resolver_of(self, name: str) -> Resolver:
        """What compiles a lock."""
        return self.locks[name].resolver or self.resolver

    def pick(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Names of the locks that were asked for, all without any. Raises UsageError."""
        for name in names:
            if name not in self.locks:
                raise unknown_name("lock", name, self.locks)
        return tuple(name for name in self.locks if not names or name in names)


class Locks:
    """The folder of a manifest, within a repository."""

    def __init__(self, root: Path, file: str = FILE) -> None:
        """Read the manifest of a repository. Raises ConfigError that lists all that is wrong."""
        self.root = root
        self.file = file
        path = root / file
        self.folder = path.parent
        if not path.resolve().is_relative_to(root.resolve()):
            msg = f"--manifest {file} lies outside of {root}"
            raise UsageError(msg, hint="name a file of the repository, or another --root")
        if not path.exists():
            problem = Problem(file=str(path), message="there is no such file")
            raise ConfigError([problem], hint=_START)
        self.manifest = validate_model(load_yaml(path), LocksManifest)

    def path(self, name: str) -> Path:
        """Where a lock lies."""
        return self.folder / f"{name}.txt"

    def relative(self, name: str) -> str:
        """The same within the repository, as git and headers write it."""
        return self.path(name).relative_to(self.root).as_posix()

    @property
    def record(self) -> Path:
        """What the package index said of everything that is locked here."""
        return self.folder / RECORD

    @property
    def holds(self) -> Path:
        """Constraints by which packages are kept back, each with its reason; may be absent."""
        return self.folder / HOLDS
