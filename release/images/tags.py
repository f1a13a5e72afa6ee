"""Tags of a release: their names, and whether each leads to all that it should."""

from collections.abc import Iterator, Sequence

from gauntlet.core.errors import UsageError
from gauntlet.core.findings import Finding
from gauntlet.images.oci.manifest import Manifest
from gauntlet.images.oci.reference import Place, Reference
from gauntlet.images.oci.registry import ImageStore
from gauntlet.release.matrix.model import ImageCell, Matrix
from gauntlet.release.version import ReleaseVersion

_LAST = "latest"


def version_tag(version: ReleaseVersion, suffix: str) -> str:
    """Tag of a manifest list: ``v1.2.3-ubuntu2404``."""
    return f"{version.final.tag}{suffix}"


def platform_tag(version: ReleaseVersion, cell: ImageCell) -> str:
    """Tag of one platform's image: ``v1.2.3-ubuntu2404-arm64``."""
    return f"{version_tag(version, cell.suffix)}-{cell.platform.partition('/')[2]}"


def moving_tags(matrix: Matrix) -> list[tuple[str, str]]:
    """Pairs of a moving tag and a suffix in the order in which they move: ``latest`` at the end."""
    suffixes = sorted(dict.fromkeys(cell.suffix for cell in matrix.images), key=lambda s: s == "")
    ordered = sorted(matrix.moving_tags, key=lambda tag: tag == _LAST)
    return [(tag, suffix) for tag in ordered for suffix in suffixes]


def newer_than(version: ReleaseVersion, tags: Sequence[str]) -> ReleaseVersion | None:
    """The newest release among tags that is newer than a version; None where there is none."""
    known: list[ReleaseVersion] = []
    for tag in tags:
        try:
            known.append(ReleaseVersion.parse(tag))
        except UsageError:
            continue
    newer = [found for found in known if not found.is_candidate and found > version.final]
    return max(newer, default=None)


def check_tags(
    store: ImageStore,
    matrix: Matrix,
    version: ReleaseVersion,
    place: Place,
) -> tuple[Finding, ...]:
    """Check that version tags have every platform, and moving tags the very same.

    Where a newer release is there already, moving tags are its own and not looked at.
    Raises ExternalServiceError where a registry does not answer.
    """
    findings: list[Finding] = []
    for (repository, suffix), cells in matrix.manifests().items():
        reference = place.at(repository, tag=version_tag(version, suffix))
        found = store.manifest(reference)
        findings += _version_tag(reference, found, cells)
        if newer_than(version, store.tags(place, repository)):
            continue
        for tag in matrix.moving_tags:
            moving = place.at(repository, tag=f"{tag}{suffix}")
            findings += _moving_tag(moving, store.manifest(moving), reference, found)
    return tuple(findings)


def _version_tag(
    reference: Reference, found: Manifest | None, cells: Sequence[ImageCell]
) -> Iterator[Finding]:
    if found is None:
        yield _finding("image-tag", reference, "it is not there", "publish again: it continues")
    elif not found.is_index:
        yield _finding("image-tag", reference, "it leads to one image, and to no manifest list")
    else:
        wanted, there = {cell.platform for cell in cells}, set(found.platforms)
        if missing := wanted - there:
            yield _finding("image-tag", reference, f"no image for {', '.join(sorted(missing))}")
        if extra := there - wanted:
            message = f"the matrix has no cell for {', '.join(sorted(extra))}"
            yield _finding("image-tag", reference, message)


def _moving_tag(
    moving: Reference, there: Manifest | None, version: Reference, found: Manifest | None
) -> Iterator[Finding]:
    if there is None:
        yield _finding("image-moving-tag", moving, "it is not there", "publish again: it continues")
        return
    if found is None or there.digest == found.digest:
        return
    lacking = sorted(set(found.platforms) - set(there.platforms))
    extra = sorted(set(there.platforms) - set(found.platforms))
    parts = [f"it is {there.digest[:19]}, and {version.tag} is {found.digest[:19]}"]
    parts += [f"it has no image for {', '.join(lacking)}"] if lacking and there.is_index else []
    parts += ["it leads to one image, and to no manifest list"] if not there.is_index else []
    parts += [f"it has also {', '.join(extra)}"] if extra else []
    remedy = "publish again, or roll back"
    yield _finding("image-moving-tag", moving, "; ".join(parts), remedy)


def _finding(check: str, reference: Reference, message: str, remedy: str = "") -> Finding:
    return Finding(check=check, subject=str(reference), message=message, remedy=remedy)
