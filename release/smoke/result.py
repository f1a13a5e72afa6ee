"""What a smoke test found, as it is kept beside the artifact."""

import platform
import socket
from collections.abc import Sequence
from datetime import datetime
from typing import Literal, Self

from pydantic import Field

from gauntlet.core.findings import Finding, errors_of
from gauntlet.core.yaml_file import StrictModel
from gauntlet.release.artifacts import Digest

_MACHINES = {"x86_64": "amd64", "AMD64": "amd64", "aarch64": "arm64"}


class SmokeResult(StrictModel):
    """One artifact that was tried on one machine.

    ``missing`` is what could not be tried there: it is no pass, and ``findings`` say why.
    """

    schema_version: Literal[1] = 1
    kind: Literal["wheel", "image"]
    cell: str
    name: str
    digest: Digest
    outcome: Literal["pass", "fail", "missing"]
    host: str
    platform: str
    """Of the machine, ``linux/amd64``."""
    seconds: float = Field(ge=0)
    at: datetime
    said: str = ""
    """What the engine answered."""
    findings: tuple[Finding, ...] = ()

    @classmethod
    def of(
        cls,
        kind: Literal["wheel", "image"],
        cell: str,
        name: str,
        digest: str,
        *,
        tried: "Tried",
        seconds: float,
        at: datetime,
    ) -> Self:
        """Judge what was found when it was tried."""
        failed = "fail" if errors_of(tried.findings) or not tried.said else "pass"
        return cls.model_validate(
            {
                "kind": kind,
                "cell": cell,
                "name": name,
                "digest": digest,
                "outcome": "missing" if tried.missing else failed,
                "host": socket.gethostname(),
                "platform": host_platform(),
                "seconds": round(seconds, 3),
                "at": at,
                "said": tried.said,
                "findings": tuple(tried.findings),
            }
        )


class Tried:
    """What came of trying something: findings in order, and what was answered."""

    def __init__(
        self, findings: Sequence[Finding] = (), *, said: str = "", missing: bool = False
    ) -> None:
        self.findings = tuple(findings)
        self.said = said
        self.missing = missing


def host_platform() -> str:
    """This machine as images call it: ``linux/amd64``."""
    machine = platform.machine()
    return f"{platform.system().lower()}/{_MACHINES.get(machine, machine)}"
