"""How images of a release come from staging to the public, as steps in order: data, no deeds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from gauntlet.core.errors import UsageError
from gauntlet.core.yaml_file import StrictModel
from gauntlet.images.oci.manifest import IndexEntry, digest_of, index_bytes
from gauntlet.images.oci.reference import Place
from gauntlet.images.oci.registry import ImageStore
from gauntlet.release.artifacts import Artifact, Digest
from gauntlet.release.images.tags import moving_tags, newer_than, platform_tag, version_tag
from gauntlet.release.matrix.model import ImageCell, Matrix
from gauntlet.release.version import ReleaseVersion


class CopyImage(StrictModel):
    """Copy one platform's image, by its digest, under a tag that stays for ever."""

    kind: Literal["copy"] = "copy"
    source: str
    """The place that it is taken from."""
    place: str
    repository: str
    tag: str
    digest: Digest

    def line(self) -> str:
        """As one line for people."""
        return f"copy  {self.repository}@{self.digest[:19]} to {self.place}, {self.tag}"


class WriteList(StrictModel):
    """Make the manifest list of a version. Its digest follows from its images, so it is known."""

    kind: Literal["list"] = "list"
    place: str
    repository: str
    tag: str
    digest: Digest
    entries: tuple[IndexEntry, ...]

    def line(self) -> str:
        """As one line for people."""
        platforms = ", ".join(entry.platform for entry in self.entries)
        return f"list  {self.repository}:{self.tag} of {platforms}: {self.digest[:19]}"


class MoveTag(StrictModel):
    """Let a moving tag lead to what a version's tag leads to."""

    kind: Literal["move"] = "move"
    place: str
    repository: str
    tag: str
    digest: Digest

    def line(self) -> str:
        """As one line for people."""
        return f"move  {self.repository}:{self.tag} to {self.digest[:19]}"


Step = Annotated[CopyImage | WriteList | MoveTag, Field(discriminator="kind")]


class Promotion(StrictModel):
    """Steps in the order in which they are taken, and what is left as it is, with the reason."""

    version: str
    steps: tuple[Step, ...]
    left: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """For people, before they are asked."""
        return [step.line() for step in self.steps] + [f"leave {reason}" for reason in self.left]


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedImage:
    """An image in staging that fills a cell, and what a manifest list says of it."""

    cell: ImageCell
    entry: IndexEntry


def read_staged(
    store: ImageStore, matrix: Matrix, artifacts: Sequence[Artifact], staging: Place
) -> tuple[StagedImage, ...]:
    """Look up every cell's image in staging.

    Raises UsageError that names every cell with no image, or with none there by its digest.
    """
    staged: list[StagedImage] = []
    missing: list[str] = []
    for cell in matrix.images:
        filled = [a for a in artifacts if a.kind == "image" and a.cell == cell.id]
        found = (
            store.manifest(staging.at(cell.repository, digest=filled[0].digest))
            if len(filled) == 1
            else None
        )
        if found is None:
            missing.append(cell.id)
            continue
        entry = IndexEntry(
            platform=cell.platform,
            digest=found.digest,
            size_bytes=len(found.raw),
            media_type=found.media_type,
        )
        staged.append(StagedImage(cell=cell, entry=entry))
    if missing:
        msg = f"no image in {staging} for {', '.join(missing)}"
        raise UsageError(msg, hint="build and push them: a release ships whole or not at all")
    return tuple(staged)


def plan_promotion(
    matrix: Matrix,
    staged: Sequence[StagedImage],
    version: ReleaseVersion,
    *,
    staging: Place,
    public: Place,
    standing: Mapping[str, Sequence[str]],
) -> Promotion:
    """Plan: all images, then all lists, then moving tags, ``latest`` last of everything.

    ``standing`` are the public tags of each repository: where a newer release is among them,
    moving tags are left to it. Raises UsageError where a cell has no image.
    """
    by_id = {image.cell.id: image.entry for image in staged}
    if lacking := [cell.id for cell in matrix.images if cell.id not in by_id]:
        raise UsageError(f"no image for {', '.join(lacking)}", hint="a release ships whole")
    copies = [
        CopyImage(
            source=str(staging),
            place=str(public),
            repository=cell.repository,
            tag=platform_tag(version, cell),
            digest=by_id[cell.id].digest,
        )
        for cell in matrix.images
    ]
    lists = [
        _list([by_id[cell.id] for cell in cells], version, public, repository, suffix)
        for (repository, suffix), cells in matrix.manifests().items()
    ]
    moves, left = _moves(matrix, version, lists, standing)
    return Promotion(version=version.final.tag, steps=(*copies, *lists, *moves), left=tuple(left))


def _list(
    entries: Sequence[IndexEntry],
    version: ReleaseVersion,
    public: Place,
    repository: str,
    suffix: str,
) -> WriteList:
    ordered = tuple(sorted(entries, key=lambda entry: entry.platform))
    return WriteList(
        place=str(public),
        repository=repository,
        tag=version_tag(version, suffix),
        digest=digest_of(index_bytes(ordered)),
        entries=ordered,
    )


def _moves(
    matrix: Matrix,
    version: ReleaseVersion,
    lists: Sequence[WriteList],
    standing: Mapping[str, Sequence[str]],
) -> tuple[list[MoveTag], list[str]]:
    moves: list[MoveTag] = []
    left: list[str] = []
    for tag, suffix in moving_tags(matrix):
        for made in lists:
            if made.tag != version_tag(version, suffix):
                continue
            if newer := newer_than(version, standing.get(made.repository, ())):
                left.append(f"{made.repository}:{tag}{suffix}: {newer} is newer than {version}")
                continue
            moves.append(
                MoveTag(
                    place=made.place,
                    repository=made.repository,
                    tag=f"{tag}{suffix}",
                    digest=made.digest,
                )
            )
    return moves, left


def plan_tag_rollback(
    matrix: Matrix,
    back_to: ReleaseVersion,
    *,
    public: Place,
    digests: Mapping[tuple[str, str], str],
) -> Promotion:
    """Plan to let moving tags lead to an earlier release again; its own tags stay for ever.

    ``digests`` are those of the earlier release's lists by repository and suffix, as
    :func:`read_lists` finds them. Raises UsageError where it had none at all.
    """
    if not digests:
        msg = f"{back_to} has no images in {public}"
        raise UsageError(msg, hint="name a release that was published")
    steps: list[MoveTag] = []
    left: list[str] = []
    for tag, suffix in moving_tags(matrix):
        for repository in dict.fromkeys(cell.repository for cell in matrix.images):
            if (repository, suffix) not in matrix.manifests():
                continue
            if digest := digests.get((repository, suffix)):
                steps.append(
                    MoveTag(
                        place=str(public),
                        repository=repository,
                        tag=f"{tag}{suffix}",
                        digest=digest,
                    )
                )
            else:
                left.append(f"{repository}:{tag}{suffix}: {back_to} had no such image")
    return Promotion(version=back_to.final.tag, steps=tuple(steps), left=tuple(left))


def read_lists(
    store: ImageStore, matrix: Matrix, version: ReleaseVersion, public: Place
) -> dict[tuple[str, str], str]:
    """Digests of a release's manifest lists by repository and suffix; absent ones are left out."""
    found = {
        (repository, suffix): store.manifest(
            public.at(repository, tag=version_tag(version, suffix))
        )
        for repository, suffix in matrix.manifests()
    }
    return {key: manifest.digest for key, manifest in found.items() if manifest}


def read_tags(store: ImageStore, matrix: Matrix, public: Place) -> dict[str, Sequence[str]]:
    """Tags that each repository of a matrix has by now."""
    repositories = dict.fromkeys(cell.repository for cell in matrix.images)
    return {repository: store.tags(public, repository) for repository in repositories}
