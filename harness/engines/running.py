"""What a session needs of an engine, however many servers it is."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Protocol

from gauntlet.harness.engines.errors import EngineDeath
from gauntlet.harness.engines.identity import EngineIdentity
from gauntlet.harness.engines.launch import Endpoint, LaunchSpec

OnDeath = Callable[[EngineDeath], None]


class RunningEngine(Protocol):
    """What a session needs of an engine, be it one server or several behind a router."""

    spec: LaunchSpec
    side: str

    @property
    def endpoint(self) -> Endpoint:
        """Where requests go. Raises EngineError before it is ready."""

    @property
    def identity(self) -> EngineIdentity:
        """What it says of itself. Raises EngineError before it is ready."""

    @property
    def root_pids(self) -> tuple[int, ...]:
        """Its first processes on this machine."""

    @property
    def servers(self) -> Mapping[str, str]:
        """Root URLs of the servers that have metrics, by their names; one alone has none."""

    def launch(self) -> None:
        """Start it without waiting."""

    def start(self) -> None:
        """Start it if need be, and wait until it answers. Raises EngineError."""

    def ensure_alive(self, doing: str, *, settle_s: float = 0.0) -> None:
        """Raise EngineDeath where it ended; ``doing`` says what was going on."""

    def on_death(self, callback: OnDeath) -> AbstractContextManager[None]:
        """Have ``callback`` called, from another thread, within a second of an end."""

    def reset_prefix_cache(self) -> bool:
        """Ask for an empty prefix cache; whether the server confirmed it."""

    def close(self) -> None:
        """Stop it. Safe to call again."""
