"""uv as a resolver: seconds for what takes pip-compile minutes."""

import tempfile
from pathlib import Path

from gauntlet.locks.header import header_text, lock_command
from gauntlet.locks.resolver import Resolution
from gauntlet.locks.resolvers.running import body_of, environment, find_program, seed

_REMEDY = "install it: pip install 'gauntlet[locks]'"


class Uv:
    """Resolves with ``uv pip compile``."""

    def command(self, resolution: Resolution) -> tuple[str, ...]:
        """The command of the header."""
        return lock_command(
            "uv", resolution.root, resolution.file, resolution.spec, resolution.python
        )

    def resolve(self, resolution: Resolution) -> str:
        """Resolve; the text of the lock. Raises as the port says."""
        command = self.command(resolution)
        argv = [find_program("uv", remedy=_REMEDY), *command[1:], "--no-header", "--quiet"]
        if not resolution.hashes:
            argv.remove("--generate-hashes")
        with tempfile.TemporaryDirectory(prefix="gauntlet-uv-") as scratch:
            argv += _sources(resolution, Path(scratch))
            env = environment(offline=resolution.offline)
            present = seed(resolution)
            if resolution.held:
                # Held in a first run, and kept by the second as pins: so that the constraints of
                # the first, which nobody else has, are in no line of the lock.
                held = Path(scratch) / "held.txt"
                held.write_text("\n".join(resolution.held) + "\n", encoding="utf-8")
                first = [*argv, f"--constraints={held}", "--no-annotate"]
                present = body_of(resolution, first, env, present)
            body = body_of(resolution, argv, env, present)
        return header_text(command, resolution.python) + body


def _sources(resolution: Resolution, scratch: Path) -> list[str]:
    options = [f"--find-links={folder}" for folder in resolution.find_links]
    if resolution.offline:
        # A cache of its own: files of equal names in another folder are other files.
        options += ["--no-index", "--offline", "--no-config", f"--cache-dir={scratch / 'cache'}"]
    return options
