"""Where artifacts come from: an in-toto statement with a SLSA v1 provenance.

Format: slsa.dev/spec/v1.0/provenance and the in-toto attestation framework, Statement v1.
"""

import json
from collections.abc import Iterable, Mapping
from datetime import UTC
from typing import Annotated, Final, Literal

from pydantic import AliasGenerator, AwareDatetime, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from gauntlet.core.yaml_file import StrictModel
from gauntlet.release.artifacts import Artifact
from gauntlet.release.proof.errors import ProofError

STATEMENT: Final = "https://in-toto.io/Statement/v1"
PREDICATE: Final = "https://slsa.dev/provenance/v1"
_Hex = Annotated[str, Field(pattern=r"^[0-9a-f]{40,64}$")]


class _Camel(StrictModel):
    """Keys as the formats write them: ``buildType`` for ``build_type``."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        populate_by_name=True,
        alias_generator=AliasGenerator(alias=to_camel),
    )


class Subject(_Camel):
    """An artifact that a statement is about."""

    name: str
    digest: Mapping[Literal["sha256"], _Hex]


class Dependency(_Camel):
    """What went into a build: the source by its commit."""

    uri: str
    digest: Mapping[str, _Hex]


class BuildDefinition(_Camel):
    """All that a build was told to do."""

    build_type: str
    external_parameters: Mapping[str, str]
    internal_parameters: Mapping[str, str] = Field(default_factory=dict)
    resolved_dependencies: tuple[Dependency, ...]


class Builder(_Camel):
    """Who built it: a name that stands for a machine and those who run it."""

    id: str


class Invocation(_Camel):
    """Which run it was; times are UTC."""

    invocation_id: str
    started_on: AwareDatetime
    finished_on: AwareDatetime


class RunDetails(_Camel):
    """Who built it and when."""

    builder: Builder
    metadata: Invocation


class Provenance(_Camel):
    """The predicate."""

    build_definition: BuildDefinition
    run_details: RunDetails


class Statement(_Camel):
    """What is claimed of the subjects."""

    type: Literal["https://in-toto.io/Statement/v1"] = Field(default=STATEMENT, alias="_type")
    subject: tuple[Subject, ...] = Field(min_length=1)
    predicate_type: Literal["https://slsa.dev/provenance/v1"] = PREDICATE
    predicate: Provenance

    def digests(self) -> dict[str, str]:
        """SHA-256 (hex) of each subject by its name."""
        return {subject.name: subject.digest["sha256"] for subject in self.subject}


class Build(StrictModel):
    """One build, as it is told to `provenance`."""

    build_type: str
    """A URI that says how to read the parameters."""
    source: str
    """Address of the repository."""
    ref: str
    """The tag that was built."""
    commit: _Hex
    builder: str
    invocation: str
    """Address or id of the run."""
    parameters: Mapping[str, str] = Field(default_factory=dict)
    started: AwareDatetime
    finished: AwareDatetime


def provenance(artifacts: Iterable[Artifact], build: Build) -> Statement:
    """State which build made the artifacts. Of images the digest is their manifest's."""
    subjects = {a.name: a.digest.removeprefix("sha256:") for a in artifacts}
    source = Dependency(
        uri=f"git+{build.source}@refs/tags/{build.ref}", digest={"gitCommit": build.commit}
    )
    definition = BuildDefinition(
        build_type=build.build_type,
        external_parameters={"source": build.source, "ref": build.ref, **build.parameters},
        resolved_dependencies=(source,),
    )
    run = Invocation(
        invocation_id=build.invocation,
        started_on=build.started.astimezone(UTC),
        finished_on=build.finished.astimezone(UTC),
    )
    return Statement(
        subject=tuple(Subject(name=n, digest={"sha256": d}) for n, d in sorted(subjects.items())),
        predicate=Provenance(
            build_definition=definition,
            run_details=RunDetails(builder=Builder(id=build.builder), metadata=run),
        ),
    )


def statement_bytes(statement: Statement) -> bytes:
    """Text of a statement; the same bytes for the same statement."""
    plain = statement.model_dump(mode="json", by_alias=True)
    return json.dumps(plain, sort_keys=True, separators=(",", ":")).encode()


def parse_statement(data: bytes, *, what: str) -> Statement:
    """Read a statement; raises ProofError for anything else."""
    try:
        return Statement.model_validate_json(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "text"
        msg = f"{what}: no provenance of this kind: {where}: {first['msg']}"
        raise ProofError(msg, hint="do not use it; fetch it again") from error


def differing(statement: Statement, artifacts: Iterable[Artifact]) -> list[str]:
    """Names of artifacts that a statement does not vouch for, with the digest that they have."""
    stated = statement.digests()
    return sorted(a.name for a in artifacts if f"sha256:{stated.get(a.name)}" != a.digest)
