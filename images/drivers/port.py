"""What is asked of whatever builds images: a port."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildStep:
    """One image of one platform, with everything that a builder is told.

    ``bases`` are by build argument, as ``IMAGE@DIGEST`` or ``oci:FOLDER:TAG``. The image goes into
    ``layout`` under ``tag``; ``work`` has room for a few copies of it.
    """

    target: str
    stage: str
    platform: str
    root: Path
    context: Path
    dockerfile: Path
    created: datetime
    layout: Path
    tag: str
    work: Path
    log: Path
    timeout_s: float
    args: Mapping[str, str] = field(default_factory=dict)
    bases: Mapping[str, str] = field(default_factory=dict)
    contexts: Mapping[str, Path] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, Path] = field(default_factory=dict)
    cache_from: tuple[str, ...] = ()
    cache_to: tuple[str, ...] = ()


class Driver(Protocol):
    """Builds images into OCI layouts."""

    name: str

    def commands(self, step: BuildStep) -> list[list[str]]:
        """What would be run, in order; nothing is."""

    def build(self, step: BuildStep) -> None:
        """Build one, and keep its log. Raises CommandError where it fails or takes too long."""
