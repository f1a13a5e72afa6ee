"""What it takes to start an engine: plain data, made by the module of each engine kind."""

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchSpec:
    """One engine to start.

    ``port`` is None where the engine picks a free port itself and writes it to ``port_file``.
    ``commit`` and ``image_digest`` say which build it is, where that is known.
    """

    kind: str
    label: str
    argv: tuple[str, ...]
    env: dict[str, str] = field(default_factory=dict)
    host: str = "127.0.0.1"
    port: int | None = None
    port_file: Path | None = None
    ready_timeout_s: float = 30.0
    commit: str | None = None
    image_digest: str | None = None
    configuration: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A running engine as a client sees it."""

    host: str
    port: int
    model: str
    version: str | None

    @property
    def base_url(self) -> str:
        """Root URL, without a trailing slash."""
        return f"http://{self.host}:{self.port}"
