"""Runs tests in an order of our own with pytest, as a process of its own."""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gauntlet.core.errors import InfrastructureError
from gauntlet.core.proc import run
from gauntlet.core.yaml_file import read_text

_FAILED = ("FAILED", "ERROR")
_ENDED = (*_FAILED, "PASSED", "XFAIL", "XPASS", "SKIPPED")
_RAN = (0, 1)
# The summary stands at the end of what it writes, and must not be cut off.
_LIMIT = 64 << 20


def read_suite(file: Path) -> list[str]:
    """Read ids of tests, one a line; other lines of ``pytest --collect-only -q`` are none."""
    return [line.strip() for line in read_text(file).splitlines() if "::" in line]


@dataclass(frozen=True, slots=True, kw_only=True)
class PytestRunner:
    """Runs ``command`` (such as ``python -m pytest``) in a folder; ``timeout`` s for one run."""

    command: tuple[str, ...]
    folder: Path
    timeout: float = 1800.0

    def last_fails(self, nodeids: Sequence[str]) -> bool:
        """Run them in this order, and say whether the last one failed.

        Raises InfrastructureError where pytest did not run it: a usage error, a crash, a timeout.
        """
        last = nodeids[-1]
        with tempfile.TemporaryDirectory(prefix="gauntlet-order-") as folder:
            # Thousands of ids do not fit on a command line; pytest 8.2 reads them from a file.
            listed = Path(folder) / "nodeids"
            listed.write_text("\n".join(nodeids) + "\n", encoding="utf-8")
            done = run(
                [*self.command, "-rfEpxXs", "--tb=no", "-q", "-p", "no:randomly", f"@{listed}"],
                cwd=self.folder,
                timeout=self.timeout,
                check=False,
                supervised=True,
                limit=_LIMIT,
            )
        words = {
            line.partition(" ")[0]
            for line in done.stdout.splitlines()
            for word in _ENDED
            if line == f"{word} {last}" or line.startswith(f"{word} {last} - ")
        }
        if done.returncode not in _RAN or not words:
            tail = "\n".join((done.stderr or done.stdout).rstrip().splitlines()[-8:])
            msg = f"pytest (exit status {done.returncode}) did not run {last}\n{tail}"
            raise InfrastructureError(msg, hint="run it by hand: the ids must be those of pytest")
        return not words.isdisjoint(_FAILED)
