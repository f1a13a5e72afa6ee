"""What a candidate was built into: each artifact by its digest."""

from typing import Annotated, Literal

from pydantic import Field

from gauntlet.core.yaml_file import StrictModel

Digest = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]


class Artifact(StrictModel):
    """One file or image. What it is, is its digest; names and tags only lead there.

    ``name`` is a file name, or for an image its repository without a registry; ``cell`` names the
    cell of the matrix that it fills, empty for an sdist. An image's digest is its manifest's.
    """

    kind: Literal["wheel", "sdist", "image"]
    cell: str = ""
    name: str
    digest: Digest
    size_bytes: int = Field(ge=0)
    platform: str = ""
    """Platform tag of a wheel, ``linux/amd64`` of an image."""
    variant: str = ""
    wheel_digest: Digest | None = None
    """Of an image: the wheel that is installed in it."""
