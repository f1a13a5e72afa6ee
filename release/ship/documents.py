"""What goes beside the artifacts: sums, bills of materials, provenance, notes; all signed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from gauntlet.core.files import write_atomic
from gauntlet.core.ids import file_digest
from gauntlet.release.artifacts import Artifact
from gauntlet.release.proof.provenance import Build, provenance
from gauntlet.release.proof.sbom import wheel_sbom
from gauntlet.release.proof.signers import Signer
from gauntlet.release.proof.sums import SUMS, sums_text
from gauntlet.release.state import Candidate
from gauntlet.release.version import ReleaseVersion
from gauntlet.release.wheels.facts import read_wheel

BUILD_TYPE = "https://gauntlet.example.org/release/v1"
NOTES = "NOTES.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class Papers:
    """What documents are written of; ``at`` is when publishing was decided, on every try."""

    version: ReleaseVersion
    candidate: Candidate
    source: str
    dist: Path
    notes: str
    builder: str
    at: datetime


def write_documents(papers: Papers, folder: Path, signer: Signer) -> dict[str, str]:
    """Write and sign all documents; return the SHA-256 (hex) of each by its name.

    Written again for the same candidate with a key file they are the same bytes.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for artifact in _of(papers.candidate.artifacts, "wheel"):
        sbom = wheel_sbom(read_wheel(papers.dist / artifact.name), at=papers.at)
        written.append(write_atomic(folder / f"{artifact.name}.cdx.json", sbom, fsync=True))
    written.append(write_atomic(folder / NOTES, papers.notes, fsync=True))
    statement = provenance(_named(papers.candidate.artifacts), _build(papers))
    written += signer.sign_statement(statement, folder / papers.version.tag)
    files = [*_of(papers.candidate.artifacts, "wheel"), *_of(papers.candidate.artifacts, "sdist")]
    sums = {each.name: each.digest.removeprefix("sha256:") for each in files}
    sums |= {path.name: file_digest(path) for path in written}
    sums_file = write_atomic(folder / SUMS, sums_text(sums), fsync=True)
    written += [sums_file, signer.sign_file(sums_file)]
    return {path.name: file_digest(path) for path in written}


def _build(papers: Papers) -> Build:
    return Build(
        build_type=BUILD_TYPE,
        source=papers.source,
        ref=papers.candidate.name,
        commit=papers.candidate.commit,
        builder=papers.builder,
        invocation=papers.candidate.name,
        started=papers.candidate.at,
        finished=papers.at,
    )


def _of(artifacts: Sequence[Artifact], kind: str) -> list[Artifact]:
    return [each for each in artifacts if each.kind == kind]


def _named(artifacts: Sequence[Artifact]) -> Iterator[Artifact]:
    """Images of one repository are told apart by their cell."""
    for each in artifacts:
        name = f"{each.name}#{each.cell}" if each.kind == "image" else each.name
        yield each.model_copy(update={"name": name})
