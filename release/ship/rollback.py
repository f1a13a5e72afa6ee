"""The way back: moving tags and the index's page to the release before; what shipped stays."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gauntlet.core.errors import UsageError
from gauntlet.images.oci import reference
from gauntlet.images.oci.registry import ImageStore
from gauntlet.release.images.promote import promote
from gauntlet.release.images.promotion import Promotion, plan_tag_rollback, read_lists
from gauntlet.release.index.build import Request, build_index
from gauntlet.release.index.listing import read_listing
from gauntlet.release.matrix.model import Matrix
from gauntlet.release.version import ReleaseVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollback:
    """What is taken back, and what nothing can take back."""

    version: ReleaseVersion
    back_to: ReleaseVersion
    promotion: Promotion | None
    index: Path | None
    """Where the page of the version is taken away; None where there is none."""

    def lines(self) -> Iterator[str]:
        """For people."""
        yield f"roll back {self.version} to {self.back_to}"
        if self.promotion is not None:
            yield from self.promotion.lines()
        else:
            yield f"leave moving tags: {self.back_to} has no images that they could lead to"
        if self.index is not None:
            yield f"index take away the page of {self.version.python} in {self.index}"
        yield f"stay  the tag {self.version.tag}, its images by version, its files by commit:"
        yield "      who pinned them keeps them; tell people, and cut the next version"

    def plain(self) -> dict[str, object]:
        """As JSON."""
        steps = self.promotion.model_dump(mode="json")["steps"] if self.promotion else []
        return {
            "version": self.version.tag,
            "back_to": self.back_to.tag,
            "moves": steps,
            "index": str(self.index) if self.index else None,
        }


def plan_rollback(
    version: ReleaseVersion,
    back_to: ReleaseVersion,
    *,
    matrix: Matrix,
    store: ImageStore,
    public: reference.Place,
    index: Path,
) -> Rollback:
    """Plan the way back. Raises UsageError where there is nothing to go back to."""
    if back_to >= version:
        msg = f"{back_to} is not older than {version}"
        raise UsageError(msg, hint="--to names the release that users should have again")
    promotion = None
    # A release from before there were images has none to go back to: tags stay, the page goes.
    if matrix.images and (digests := read_lists(store, matrix, back_to, public)):
        promotion = plan_tag_rollback(matrix, back_to, public=public, digests=digests)
    listed = index.is_dir() and version.python in read_listing(index).pointers
    return Rollback(
        version=version, back_to=back_to, promotion=promotion, index=index if listed else None
    )


def perform_rollback(plan: Rollback, store: ImageStore) -> None:
    """Take it back. Done again it changes nothing."""
    if plan.promotion is not None:
        promote(store, plan.promotion)
    if plan.index is not None:
        build_index(plan.index, Request(versions={}, remove=(plan.version.python,)))
