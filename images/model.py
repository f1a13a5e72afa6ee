"""``images.yaml``: which images there are, and of what; ``versions.json``: the base images."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, ValidationError, model_validator

from gauntlet.core.errors import ConfigError, Problem, unknown_name
from gauntlet.core.yaml_file import StrictModel, load_yaml, read_text, validate_model

FILE = "dockerfiles/images.yaml"
BASES = "dockerfiles/versions.json"
BAKE = "docker-bake.hcl"
UPDATE_BASES = "run: gauntlet images bases update"
_HERE = "go to the root of the repository, or give --root (docs/reference/images.md)"

Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")]
ArgName = Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]*$")]
Platform = Literal["linux/amd64", "linux/arm64"]
Repository = Annotated[str, Field(pattern=r"^[a-z0-9]+(?:[._/-][a-z0-9]+)*$")]
Days = Annotated[int, Field(ge=1)]


class Base(StrictModel):
    """One base image. ``digest`` is that of its list of platforms; null where nobody asked yet."""

    image: Repository
    tag: Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$")]
    digest: Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")] | None
    platforms: tuple[Platform, ...] = Field(min_length=1)

    @property
    def pinned(self) -> str:
        """As a Dockerfile's FROM takes it; the tag is for people. Empty without a digest."""
        return f"{self.image}:{self.tag}@{self.digest}" if self.digest else ""


class Bases(StrictModel):
    """``versions.json``."""

    gauntlet: Literal[1]
    bases: dict[Name, Base]


class Target(StrictModel):
    """One image: a stage of a Dockerfile. Paths are relative to the repository.

    ``bases`` and ``args`` are by the name of the build argument that carries them; ``contexts``
    by their name in the Dockerfile, null where whoever builds says where it is. ``locks`` are all
    that ``environment`` (a folder of the image) has installed, besides the ``packages`` and what
    is ``unlocked``; the first is the runtime's, the others are installed over it.
    """

    purpose: str
    kind: Literal["release", "test", "tool"]
    dockerfile: str
    stage: Name
    repository: Repository
    platforms: tuple[Platform, ...] = Field(default=("linux/amd64",), min_length=1)
    bases: dict[ArgName, Name] = Field(min_length=1)
    args: dict[ArgName, str] = Field(default_factory=dict)
    contexts: dict[Name, str | None] = Field(default_factory=dict)
    secrets: tuple[Name, ...] = ()
    locks: tuple[Name, ...] = Field(min_length=1)
    packages: tuple[Name, ...] = Field(min_length=1)
    unlocked: tuple[Name, ...] = ()
    """Packages of a context's wheels, which no lock pins."""
    environment: str
    shares: Name = "runtime"
    """The stage that images of the same Dockerfile have in common."""
    toolchain: tuple[Name, ...] = ("base", "build")
    """Stages that only files may be taken from, never the image."""
    timeout_minutes: int = Field(default=60, ge=1)

    @property
    def over_runtime(self) -> tuple[str, ...]:
        """Locks that are installed over the first: further ones, those of arguments ``*_LOCK``."""
        named = (value for arg, value in self.args.items() if arg.endswith("_LOCK"))
        return tuple(dict.fromkeys((*self.locks[1:], *named)))


class Retention(StrictModel):
    """How long a registry keeps what. Tags of none of these kinds are never touched."""

    key_days: Days
    commit_days: Days
    branch_cache_days: Days
    keep_newest_of_main: int = Field(ge=1)
    keep: tuple[str, ...] = ()
    """Patterns of tags that stay whatever they look like."""


class Warm(StrictModel):
    """What a builder's machine has before it gets work."""

    targets: tuple[Name, ...]
    keep_old: int = Field(ge=1)
    parameter: str


class ImagesManifest(StrictModel):
    """All images of a repository, by name."""

    gauntlet: Literal[1]
    source: str
    title: str
    context: str = "."
    unkeyed_args: tuple[ArgName, ...] = ()
    """Arguments that change how an image is built, and not what is in it."""
    targets: dict[Name, Target] = Field(min_length=1)
    groups: dict[Name, tuple[Name, ...]] = Field(default_factory=dict)
    retention: Retention
    warm: Warm

    @model_validator(mode="after")
    def _names_are_known(self) -> Self:
        lists = {**self.groups, "warm": self.warm.targets}
        for group, names in lists.items():
            for name in names:
                if name not in self.targets:
                    raise ValueError(f"{group} names {name!r}, and there is no such target")
            if group in self.targets:
                raise ValueError(f"{group!r} is a group and a target")
        return self

    def pick(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Targets that were asked for by their names or their group's; all without any."""
        wanted: set[str] = set()
        for name in names:
            if name in self.groups:
                wanted.update(self.groups[name])
            elif name in self.targets:
                wanted.add(name)
            else:
                raise unknown_name("target", name, [*self.targets, *self.groups])
        return tuple(name for name in self.targets if not names or name in wanted)


class Images:
    """The images of a repository."""

    def __init__(self, root: Path, file: str = FILE, bases: str = BASES) -> None:
        """Read both files. Raises ConfigError that lists all that is wrong with the first bad."""
        self.root = root
        self.file = file
        self.bases_file = bases
        if not (root / file).exists():
            problem = Problem(file=str(root / file), message="there is no such file")
            raise ConfigError([problem], hint=_HERE)
        self.manifest = validate_model(load_yaml(root / file), ImagesManifest)
        self.bases: Mapping[str, Base] = load_bases(root / bases).bases
        _check_bases(self)

    def base_of(self, target: Target) -> dict[str, tuple[str, Base]]:
        """Name and image of each base, by the argument that carries it."""
        return {arg: (name, self.bases[name]) for arg, name in target.bases.items()}


def load_bases(path: Path) -> Bases:
    """Read ``versions.json``. Raises ConfigError."""
    try:
        return Bases.model_validate_json(read_text(path))
    except ValidationError as error:
        problems = [
            Problem(file=str(path), key=".".join(map(str, item["loc"])), message=item["msg"])
            for item in error.errors()
        ]
        raise ConfigError(problems) from error


def bases_text(bases: Bases) -> str:
    """As the file is written: in its own order, one line a key."""
    return json.dumps(bases.model_dump(mode="json"), indent=2) + "\n"


def _check_bases(images: Images) -> None:
    problems = [
        Problem(
            file=images.file,
            key=f"targets.{name}.bases.{arg}",
            message=f"there is no such base in {images.bases_file}",
            value=base,
            allowed=tuple(images.bases),
        )
        for name, target in images.manifest.targets.items()
        for arg, base in target.bases.items()
        if base not in images.bases
    ]
    if problems:
        raise ConfigError(problems)
