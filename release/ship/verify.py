"""What is published against the signed record: signature, documents, files, images, tag."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gauntlet.core.errors import UsageError
from gauntlet.core.findings import Finding
from gauntlet.core.ids import file_digest
from gauntlet.images.oci import reference
from gauntlet.images.oci.registry import ImageStore, digest_at
from gauntlet.release.images.tags import check_tags, newer_than
from gauntlet.release.index.listing import read_listing
from gauntlet.release.matrix.model import Matrix
from gauntlet.release.proof.envelope import IN_TOTO, open_envelope_file
from gauntlet.release.proof.keys import PublicKey
from gauntlet.release.proof.provenance import parse_statement
from gauntlet.release.proof.signers import (
    BUNDLE_SUFFIX,
    ENVELOPE_SUFFIX,
    SIGNATURE_SUFFIX,
    beside,
    verify_file,
)
from gauntlet.release.proof.sums import SUMS
from gauntlet.release.remote import Remote
from gauntlet.release.ship.files import check_files, files_of
from gauntlet.release.ship.record import RECORD, Record, read_record
from gauntlet.release.version import ReleaseVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """Where to look. ``index`` and ``registry`` of the record hold where none is given here.

    Without a ``remote`` the git tag is not looked at, which is said.
    """

    documents: Path
    key: PublicKey
    matrix: Matrix
    store: ImageStore
    index: Path | None = None
    registry: reference.Place | None = None
    remote: Remote | None = None


def verify_release(published: Published) -> tuple[Record, tuple[Finding, ...]]:
    """Compare; nothing found is all well.

    Raises ProofError where the record's signature does not hold: then it says nothing at all.
    ExternalServiceError where a registry or the remote does not answer.
    """
    path = published.documents / RECORD
    if beside(path, BUNDLE_SUFFIX).exists() and not beside(path, SIGNATURE_SUFFIX).exists():
        msg = f"{path} is signed with Sigstore, and not with a key file"
        raise UsageError(msg, hint=f"cosign verify-blob --bundle {beside(path, BUNDLE_SUFFIX)} …")
    if path.exists():
        # What somebody changed is not even read.
        verify_file(path, published.key)
    record = read_record(path)
    findings = [
        *_documents(published, record),
        *_files(published, record),
        *_images(published, record),
        *_git_tag(published, record),
    ]
    return record, tuple(findings)


def _documents(published: Published, record: Record) -> Iterator[Finding]:
    for name, digest in record.documents.items():
        path = published.documents / name
        if not path.exists():
            yield _finding("document", name, f"{path} is not there")
        elif file_digest(path) != digest:
            yield _finding("document", name, f"{path} is not what was signed")
    sums = published.documents / SUMS
    if sums.exists():
        verify_file(sums, published.key)
    envelope = published.documents / f"{record.version}{ENVELOPE_SUFFIX}"
    if envelope.exists():
        payload = open_envelope_file(envelope, IN_TOTO, published.key)
        stated = parse_statement(payload, what=str(envelope)).digests()
        for each in record.artifacts:
            name = f"{each.name}#{each.cell}" if each.kind == "image" else each.name
            if f"sha256:{stated.get(name)}" != each.digest:
                yield _finding("provenance", name, "the provenance does not vouch for it")


def _files(published: Published, record: Record) -> Iterator[Finding]:
    if not files_of(record.artifacts):
        return
    index = published.index or Path(record.index)
    yield from check_files(record.artifacts, index / record.commit)
    pointers = read_listing(index).pointers if index.is_dir() else {}
    version = ReleaseVersion.parse(record.version).python
    if pointers.get(version) != record.commit:
        leads = pointers.get(version, "nothing")
        message = f"the page of {version} leads to {leads}, not to {record.commit}"
        yield _finding("index", version, message, f"gauntlet index build {index}")


def _images(published: Published, record: Record) -> Iterator[Finding]:
    if not record.tags:
        return
    place = published.registry or reference.Place.parse(record.registry)
    version = ReleaseVersion.parse(record.version)
    for tag in record.tags:
        newer = newer_than(version, published.store.tags(place, tag.repository))
        if tag.moving and newer:
            # It went on to the next release, as it should.
            continue
        where = place.at(tag.repository, tag=tag.tag)
        there = digest_at(published.store, where)
        if there != tag.digest:
            message = f"it leads to {there or 'nothing'}, and was published as {tag.digest}"
            yield _finding("image", str(where), message, "roll back, and find out who moved it")
    yield from check_tags(published.store, published.matrix, version, place)


def _git_tag(published: Published, record: Record) -> Iterator[Finding]:
    if published.remote is None:
        message = "its tag was not looked at"
        yield _finding("git-tag", record.version, message, level="warning")
        return
    ref = f"refs/tags/{record.version}"
    there = published.remote.heads(ref).get(ref, ("", ""))[1]
    if there != record.commit:
        message = f"{published.remote.name} has it at {there or 'nothing'}, not at {record.commit}"
        yield _finding("git-tag", record.version, message, "a released tag never moves")


def _finding(
    check: str, subject: str, message: str, remedy: str = "", *, level: str = "error"
) -> Finding:
    return Finding(
        check=check,
        subject=subject,
        message=message,
        remedy=remedy,
        level="warning" if level == "warning" else "error",
    )
