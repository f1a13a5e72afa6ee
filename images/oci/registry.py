"""What is asked of a place for images: a port. skopeo serves it, and tests serve it from memory."""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from gauntlet.images.oci.manifest import ImageConfig, IndexEntry, Manifest
from gauntlet.images.oci.reference import Place, Reference


class ImageStore(Protocol):
    """Reads and copies images.

    Every method raises ExternalServiceError where a registry does not answer as it should, and
    UsageError where it wants another login. What is not there is never taken for a failure, and
    a failure never for absence.
    """

    def manifest(self, reference: Reference) -> Manifest | None:
        """The manifest or index; None where there is none."""

    def config(self, reference: Reference) -> ImageConfig:
        """The configuration of one platform's image. Raises UsageError where it is not there."""

    def tags(self, place: Place, repository: str) -> Sequence[str]:
        """Tags of a repository in order; none where there is no such repository."""

    def copy(self, source: Reference, destination: Reference) -> str:
        """Copy an image, or a list with all its images, byte for byte, and return its digest.

        The destination has a tag, which is moved there last of all. Raises UsageError where the
        source is not there.
        """

    def write_index(self, destination: Reference, entries: Iterable[IndexEntry]) -> str:
        """Make a list of images that the repository has, tag it, and return its digest."""

    def layer_files(self, reference: Reference) -> AbstractContextManager[Sequence[Path]]:
        """Files with an image's layers (tar, maybe gzipped), the lowest first, while within."""


def digest_at(store: ImageStore, reference: Reference) -> str | None:
    """Digest of what a reference leads to; None where there is nothing."""
    found = store.manifest(reference)
    return found.digest if found else None
