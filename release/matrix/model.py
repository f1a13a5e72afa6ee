"""Cells of the artifact matrix. Another engine has another file, and no other code."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from gauntlet.core.yaml_file import StrictModel, load_model

# Buildkite's step keys take no dots.
Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]*$")]


_BUILDX = "docker buildx build --file {dockerfile} --platform {platform} {target} {build_args}"


class Builders(StrictModel):
    """Commands that fill a cell, as the engine needs them; words in braces are filled in.

    Known: ``{cell}``, ``{version}``, ``{commit}``, ``{candidate}``, ``{dockerfile}``,
    ``{platform}``, ``{target}`` (as ``--target NAME``, where there is one), ``{build_args}`` (as
    ``--build-arg K=V`` each); of wheels ``{variant}``, ``{platform_tag}`` and ``{out}`` (folder for
    the file); of images ``{reference}`` (its staging name) and ``{wheel}`` (folder with the wheel).
    """

    wheel: tuple[str, ...] = (f"{_BUILDX} --output type=local,dest={{out}} .",)
    image: tuple[str, ...] = (f"{_BUILDX} --tag {{reference}} --push .",)
    sdist: tuple[str, ...] = ("python3 -m build --sdist --outdir {out} .",)
    sdist_queue: str = "small_cpu_queue_release"
    collect_queue: str = "small_cpu_queue_release"


class WheelCell(StrictModel):
    """One wheel. Its tags say exactly which file fills the cell."""

    id: Name
    variant: str = Field(default="", pattern=r"^[a-z0-9.]*$")
    """Local version label and name of its index; empty: the default, which has no label."""
    python_tag: str = "cp38"
    abi_tag: str = "abi3"
    platform_tag: str = Field(pattern=r"^(manylinux|linux|macosx)_\w+$")
    queue: str
    smoke_queue: str
    """Where the built wheel is installed and served once; a machine that the wheel is for."""
    dockerfile: str = "Dockerfile"
    target: str = ""
    build_args: Mapping[str, str] = Field(default_factory=dict)
    timeout_minutes: int = Field(default=180, ge=1)
    size_limit_mb: float = Field(default=500, gt=0)

    @property
    def arch(self) -> str:
        """The machine: ``x86_64`` or ``aarch64``."""
        return "aarch64" if self.platform_tag.endswith(("aarch64", "arm64")) else "x86_64"


class ImageCell(StrictModel):
    """One image of one platform. Those of one ``repository`` and ``suffix`` make one manifest."""

    id: Name
    repository: str = Field(pattern=r"^[a-z0-9][a-z0-9._/-]*$")
    """Without a registry: the staging and the public one hold it by the same name."""
    suffix: str = Field(default="", pattern=r"^$|^-[a-z0-9.-]+$")
    """Of its tags, such as ``-ubuntu2404``."""
    platform: Literal["linux/amd64", "linux/arm64"]
    wheel: Name
    """Id of the wheel that is installed in it."""
    queue: str
    smoke_queue: str
    dockerfile: str = "Dockerfile"
    target: str = ""
    build_args: Mapping[str, str] = Field(default_factory=dict)
    timeout_minutes: int = Field(default=120, ge=1)
    size_limit_mb: float = Field(default=15_000, gt=0)


class Matrix(StrictModel):
    """All cells of a release."""

    schema_version: Literal[1] = 1
    package: str
    """Name of the distribution."""
    builders: Builders = Field(default_factory=Builders)
    wheels: tuple[WheelCell, ...] = ()
    images: tuple[ImageCell, ...] = ()
    sdist: bool = True
    moving_tags: tuple[str, ...] = ("latest",)
    """Tags that follow the newest release, in the order in which they are moved."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        names = [cell.id for cell in self.wheels] + [cell.id for cell in self.images]
        ids = Counter(names)
        twice = sorted(name for name, count in ids.items() if count > 1)
        if twice:
            raise ValueError(f"cells with one id: {', '.join(twice)}")
        tags = Counter(
            f"{c.variant or 'default'} {c.python_tag}-{c.abi_tag}-{c.platform_tag}"
            for c in self.wheels
        )
        if twins := sorted(name for name, count in tags.items() if count > 1):
            raise ValueError(f"two wheels that nothing tells apart: {', '.join(twins)}")
        known = {cell.id for cell in self.wheels}
        for cell in self.images:
            if cell.wheel not in known:
                allowed = ", ".join(sorted(known)) or "none"
                raise ValueError(f"image {cell.id}: no wheel {cell.wheel!r} (there are: {allowed})")
        places = Counter((c.repository, c.suffix, c.platform) for c in self.images)
        same = sorted("".join(place[:2]) for place, count in places.items() if count > 1)
        if same:
            raise ValueError(f"two images of one platform in one manifest: {', '.join(same)}")
        return self

    def manifests(self) -> dict[tuple[str, str], tuple[ImageCell, ...]]:
        """Cells of each manifest list, by repository and suffix."""
        keys = dict.fromkeys((cell.repository, cell.suffix) for cell in self.images)
        return {
            key: tuple(cell for cell in self.images if (cell.repository, cell.suffix) == key)
            for key in keys
        }


def load_matrix(path: Path | None = None) -> Matrix:
    """Read a matrix; without a file that of vLLM, which ships with this version.

    Raises ConfigError with every mistake in the file.
    """
    return load_model(path or Path(__file__).with_name("vllm.yaml"), Matrix)
