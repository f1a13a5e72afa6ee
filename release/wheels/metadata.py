"""``METADATA`` and ``WHEEL``, as the packaging standards read them."""

from dataclasses import dataclass
from email.parser import BytesParser
from email.policy import compat32

from packaging.metadata import Metadata, RawMetadata, parse_email
from packaging.tags import Tag, parse_tag


@dataclass(frozen=True, slots=True, kw_only=True)
class WheelMetadata:
    """Fields that a release looks at; empty where the file does not give them."""

    name: str
    version: str
    summary: str = ""
    requires_python: str = ""
    license: str = ""
    """License expression, license text, or the classifiers that name one."""
    has_description: bool = False
    requires: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    """What the standard does not allow in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WheelFile:
    """The ``WHEEL`` file. ``is_purelib`` is None where it is not said."""

    tags: frozenset[Tag]
    is_purelib: bool | None


def read_metadata(data: bytes) -> WheelMetadata:
    """Read ``METADATA``, also where it is not quite right; ``problems`` then say why."""
    raw, unparsed = parse_email(data)
    classifiers = [c for c in raw.get("classifiers", []) if c.startswith("License ::")]
    return WheelMetadata(
        name=raw.get("name", ""),
        version=raw.get("version", ""),
        summary=raw.get("summary", "").strip(),
        requires_python=raw.get("requires_python", "").strip(),
        license=raw.get("license_expression") or raw.get("license") or ", ".join(classifiers),
        has_description=bool(raw.get("description", "").strip()),
        requires=tuple(raw.get("requires_dist", [])),
        problems=(*_invalid(raw), *(f"{key}: cannot be read" for key in sorted(unparsed))),
    )


def read_wheel_file(data: bytes) -> WheelFile:
    """Read the ``WHEEL`` file; tags that are none are left out, so that they differ."""
    message = BytesParser(policy=compat32).parsebytes(data, headersonly=True)
    tags: set[Tag] = set()
    for text in message.get_all("Tag", []):
        if str(text).count("-") == 2:
            tags |= parse_tag(str(text).strip())
    said = {"true": True, "false": False}
    return WheelFile(
        tags=frozenset(tags),
        is_purelib=said.get(str(message.get("Root-Is-Purelib", "")).strip().lower()),
    )


def _invalid(raw: RawMetadata) -> tuple[str, ...]:
    try:
        Metadata.from_raw(raw)
    except ExceptionGroup as group:
        return tuple(f"{getattr(e, 'field', 'metadata')}: {e}" for e in group.exceptions)
    return ()
