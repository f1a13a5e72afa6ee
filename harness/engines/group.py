"""Several servers that are one engine: all started, all watched, entered through the last one."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from gauntlet.core.scoped import Scoped
from gauntlet.harness.engines.engine import Engine
from gauntlet.harness.engines.identity import EngineIdentity
from gauntlet.harness.engines.launch import Endpoint, LaunchSpec
from gauntlet.harness.engines.running import OnDeath


class EngineGroup(Scoped):
    """Servers planned by :func:`gauntlet.harness.engines.roles.launch_roles`.

    Requests go to the last of them: the router, or the only server. The death of any member is the
    death of the group, and its message names the member.
    """

    def __init__(self, specs: Sequence[LaunchSpec], *, side: str, logs: Path) -> None:
        """Describe the group; each member's log is a file in the folder ``logs``."""
        self.members = tuple(
            Engine(spec, side=side, log=logs / f"{side}-{spec.label}.log") for spec in specs
        )
        self._entry = self.members[-1]
        self._servers = self.members[:-1] or self.members
        self.spec = self._entry.spec
        self.side = side

    @property
    def endpoint(self) -> Endpoint:
        """Where requests go. Raises EngineError before the group is ready."""
        return self._entry.endpoint

    @property
    def identity(self) -> EngineIdentity:
        """What the first server says of itself: a router knows neither version nor arguments."""
        return self.members[0].identity

    @property
    def root_pids(self) -> tuple[int, ...]:
        """First processes of all members on this machine."""
        return tuple(pid for member in self.members for pid in member.root_pids)

    @property
    def servers(self) -> Mapping[str, str]:
        """Root URLs of all servers but the router. Raises EngineError before they are ready."""
        return {server.spec.label: server.endpoint.base_url for server in self._servers}

    def launch(self) -> None:
        """Start all members without waiting for them. Raises EngineError where one cannot start."""
        try:
            for member in self.members:
                member.launch()
        except BaseException:
            self.close()
            raise

    def start(self) -> None:
        """Start the members that are not, and wait for them in order, the router last.

        Raises EngineError, having stopped them all, where one fails.
        """
        try:
            for member in self.members:
                if not member.launched:
                    member.launch()
            for member in self.members:
                # A member that died while another was waited for is named, not what it broke.
                self.ensure_alive("while the group started")
                member.start()
        except BaseException:
            self.close()
            raise

    def ensure_alive(self, doing: str, *, settle_s: float = 0.0) -> None:
        """Raise EngineDeath where any member ended; ``doing`` says what was going on."""
        for number, member in enumerate(self.members):
            # One wait is enough for all.
            member.ensure_alive(doing, settle_s=settle_s if number == 0 else 0.0)

    @contextmanager
    def on_death(self, callback: OnDeath) -> Iterator[None]:
        """Have ``callback`` called for each member that ends, from its watcher's thread."""
        with ExitStack() as stack:
            for member in self.members:
                stack.enter_context(member.on_death(callback))
            yield

    def reset_prefix_cache(self) -> bool:
        """Ask all servers but the router; whether every one of them confirmed it."""
        confirmed = [server.reset_prefix_cache() for server in self._servers]
        return all(confirmed)

    def close(self) -> None:
        """Stop all members, the router first. Safe to call again."""
        with ExitStack() as stack:
            for member in self.members:
                stack.callback(member.close)
