"""Bills of materials (CycloneDX 1.6, JSON): what is in a wheel and what it needs."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from uuid import NAMESPACE_URL, uuid5

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import NormalizedName, canonicalize_name

from gauntlet.core.errors import UsageError
from gauntlet.release.wheels.facts import WheelFacts

if TYPE_CHECKING:
    from cyclonedx.model.bom import Bom
    from cyclonedx.model.component import Component

REQUIREMENT = "gauntlet:requirement"
"""Property of a component: the line of METADATA that asks for it."""


def wheel_sbom(facts: WheelFacts, *, at: datetime) -> bytes:
    """List a wheel's files with their hashes and what its metadata requires.

    ``at`` is when it is made. Equal wheels give equal bytes: the serial number comes from the hash.
    Raises UsageError where the library is not installed.
    """
    try:
        from cyclonedx.output.json import JsonV1Dot6
    except ImportError as error:
        msg = "a bill of materials takes cyclonedx-python-lib"
        raise UsageError(msg, hint="pip install 'gauntlet[release]'") from error
    text = JsonV1Dot6(_bom(facts, at)).output_as_string()
    return (json.dumps(json.loads(text), indent=1, sort_keys=True) + "\n").encode()


def _bom(facts: WheelFacts, at: datetime) -> "Bom":
    from cyclonedx.model.bom import Bom, BomMetaData

    main = _wheel_component(facts)
    bom = Bom(
        serial_number=uuid5(NAMESPACE_URL, f"sha256:{facts.sha256}"),
        metadata=BomMetaData(component=main, timestamp=at.astimezone(UTC)),
    )
    needed = list(_requirements(facts))
    for component in needed:
        bom.components.add(component)
    bom.register_dependency(main, needed)
    return bom


def _wheel_component(facts: WheelFacts) -> "Component":
    from cyclonedx.model import HashAlgorithm, HashType
    from cyclonedx.model.component import Component, ComponentType
    from cyclonedx.model.license import DisjunctiveLicense
    from packageurl import PackageURL

    said = facts.metadata
    version = str(facts.named.version)
    files = [
        Component(
            type=ComponentType.FILE,
            name=member.name,
            bom_ref=f"{facts.path.name}#{member.name}",
            hashes=[HashType(alg=HashAlgorithm.SHA_256, content=member.sha256.hex())],
        )
        for member in sorted(facts.hashes)
    ]
    return Component(
        type=ComponentType.LIBRARY,
        name=facts.named.name,
        version=version,
        bom_ref=facts.path.name,
        description=said.summary or None,
        licenses=[DisjunctiveLicense(name=said.license[:200])] if said.license else [],
        purl=PackageURL("pypi", None, facts.named.name, version, {"file_name": facts.path.name}),
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=facts.sha256)],
        components=files,
    )


def _requirements(facts: WheelFacts) -> "Iterator[Component]":
    from cyclonedx.model import Property
    from cyclonedx.model.component import Component, ComponentScope, ComponentType
    from packageurl import PackageURL

    lines: dict[NormalizedName, list[str]] = {}
    for line in facts.metadata.requires:
        try:
            name = canonicalize_name(Requirement(line).name)
        except InvalidRequirement:
            # Told by the check of metadata; here it is kept as it stands.
            name = canonicalize_name(line.partition(";")[0].strip().replace(" ", "-"))
        lines.setdefault(name, []).append(line)
    for project, given in sorted(lines.items()):
        optional = all("extra" in line.partition(";")[2] for line in given)
        yield Component(
            type=ComponentType.LIBRARY,
            name=project,
            bom_ref=f"requirement:{project}",
            scope=ComponentScope.OPTIONAL if optional else ComponentScope.REQUIRED,
            purl=PackageURL("pypi", None, project),
            properties=[Property(name=REQUIREMENT, value=line) for line in sorted(given)],
        )
