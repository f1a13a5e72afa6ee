"""What a check of artifacts, images, branches found: one shape for all of them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong (``error``: nothing ships with it) or odd (``warning``).

    ``check`` is a short stable name such as ``wheel-version``; ``subject`` says of what.
    """

    check: str
    subject: str
    message: str
    remedy: str = ""
    level: Literal["error", "warning"] = "error"

    def line(self) -> str:
        """As one line of text for people."""
        tail = f" ({self.remedy})" if self.remedy else ""
        return f"{self.level:7} {self.check:20} {self.subject}: {self.message}{tail}"


def errors_of(findings: Iterable[Finding]) -> list[Finding]:
    """Those that nothing ships with."""
    return [finding for finding in findings if finding.level == "error"]
