"""An engine as a supervised process of this machine."""

from pathlib import Path

from gauntlet.core.proc import Service
from gauntlet.harness.engines.launch import LaunchSpec, LocalProcess
from gauntlet.harness.engines.ports import check_port
from gauntlet.harness.engines.runtime import TAIL_LINES, Address, Ended

_TAIL_BYTES = 256 << 10


class ProcessRuntime:
    """Adapter for a local process; it and all its descendants die with us, however we end."""

    image_digest: str | None = None

    def __init__(self, spec: LaunchSpec, log: Path) -> None:
        self._spec = spec
        self._log = log
        self._service: Service | None = None

    def start(self) -> None:
        """Start it. Raises EngineError where its port is taken, InfrastructureError for its log."""
        spec = self._spec
        if spec.port is not None:
            check_port(spec.host, spec.port, who=spec.label)
        if spec.port_file is not None:
            spec.port_file.unlink(missing_ok=True)
        where = spec.where
        self._service = Service(
            spec.argv,
            log=self._log,
            cwd=where.cwd if isinstance(where, LocalProcess) else None,
            env=spec.environment,
            grace=spec.stop_grace_s,
            log_limit=spec.log_limit,
        )

    def answered(self) -> None:
        """Do nothing: its end is seen without asking the server."""

    def ended(self) -> Ended | None:
        """How it ended."""
        if self._service is None or (status := self._service.returncode) is None:
            return None
        return Ended(status=status)

    def address(self) -> Address | None:
        """Its fixed port, or the one that it wrote to its port file."""
        port = self._spec.port
        if port is None and (file := self._spec.port_file) is not None and file.exists():
            port = int(file.read_text(encoding="ascii"))
        return None if port is None else Address(host=self._spec.host, port=port)

    def progress(self) -> str:
        """Say what an engine that picks its own port has not done yet."""
        return "it never said on which port it listens" if self.address() is None else ""

    def log_tail(self, lines: int = TAIL_LINES) -> str:
        """Return the last lines of its log."""
        if self._service is None:
            return ""
        return self._service.log_tail(lines, limit=_TAIL_BYTES)

    def stop(self) -> None:
        """TERM to the group and every descendant, KILL after the grace."""
        if self._service is not None:
            self._service.close()

    @property
    def root_pid(self) -> int | None:
        """Process id of the command itself."""
        return None if self._service is None else self._service.pid

    @property
    def log_problem(self) -> str | None:
        """Why its log is incomplete."""
        return None if self._service is None else self._service.log_problem
