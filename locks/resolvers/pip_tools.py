"""pip-compile as a resolver: slower, and written apart from uv."""

import platform
import sys
import tempfile
from pathlib import Path

from gauntlet.core.errors import InfrastructureError
from gauntlet.locks.header import architecture, header_text, lock_command
from gauntlet.locks.resolver import Resolution
from gauntlet.locks.resolvers.running import body_of, environment, find_program, seed

_REMEDY = "install it: pip install pip-tools"


class PipTools:
    """Resolves with ``pip-compile``, for the Python and the platform that it runs on."""

    def command(self, resolution: Resolution) -> tuple[str, ...]:
        """The command of the header."""
        return lock_command(
            "pip-tools", resolution.root, resolution.file, resolution.spec, resolution.python
        )

    def resolve(self, resolution: Resolution) -> str:
        """Resolve; the text of the lock. Raises as the port says."""
        command = self.command(resolution)
        found = find_program("pip-compile", remedy=_REMEDY)
        _must_run_on(resolution)
        argv = [found, *command[1:], "--no-header", "--no-config"]
        if not resolution.hashes:
            argv.remove("--generate-hashes")
        with tempfile.TemporaryDirectory(prefix="gauntlet-pip-compile-") as scratch:
            argv += [f"--find-links={folder}" for folder in resolution.find_links]
            argv += ["--no-index"] if resolution.offline else []
            argv += [f"--cache-dir={Path(scratch) / 'cache'}"] if resolution.offline else []
            env = environment(offline=resolution.offline)
            present = seed(resolution)
            if resolution.held:
                # As with uv: the first run holds, the second keeps what it finds as pins.
                held = Path(scratch) / "held.txt"
                held.write_text("\n".join(resolution.held) + "\n", encoding="utf-8")
                first = [*argv, f"--constraint={held}", "--no-annotate"]
                present = body_of(resolution, first, env, present)
            body = body_of(resolution, argv, env, present)
        return header_text(command, resolution.python) + _plain(body)


def _plain(body: str) -> str:
    """Without the remarks that pip-compile writes between pins for people who read along."""
    remark = "# The following packages are considered to be unsafe in a requirements file:"
    lines = [line for line in body.splitlines() if line and line != remark]
    return "\n".join([line for line in lines if not line.startswith(_OPTIONS)]) + "\n"


_OPTIONS = ("--index-url", "--extra-index-url", "--find-links", "--trusted-host", "--no-index")


def _must_run_on(resolution: Resolution) -> None:
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    machine = platform.machine()
    wanted = architecture(resolution.spec.platforms[0])
    if (here, machine) != (resolution.python, wanted):
        msg = (
            f"{resolution.file} is for Python {resolution.python} on {wanted}, and pip-compile "
            f"resolves for the Python that it runs on: {here} on {machine}"
        )
        raise InfrastructureError(msg, hint="run it there, or use uv, which resolves for any")
