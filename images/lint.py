"""hadolint, where this machine has it; where not, that is said and is no pass."""

import json
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

from gauntlet.core.errors import ExternalServiceError
from gauntlet.core.findings import Finding
from gauntlet.core.proc import run

_LINT_S = 120.0
NOT_RUN = "hadolint is not installed: Dockerfiles were not linted"


def find_hadolint() -> str | None:
    """The program: beside this interpreter, or on PATH."""
    beside = Path(sys.executable).with_name("hadolint")
    return str(beside) if beside.exists() else shutil.which("hadolint")


def lint(program: str, root: Path, files: Iterable[str]) -> tuple[Finding, ...]:
    """Lint Dockerfiles. Raises CommandError, ExternalServiceError where it gives no answer."""
    command = [program, "--no-color", "--format", "json", *files]
    done = run(command, cwd=root, timeout=_LINT_S, check=False)
    try:
        said = json.loads(done.stdout)
        return tuple(
            Finding(
                check=f"lint-{item['code']}",
                subject=f"{item['file']}:{item['line']}",
                message=str(item["message"]),
                level="error" if item["level"] in ("error", "warning") else "warning",
                remedy="mend it, or say why not above: # hadolint ignore=CODE",
            )
            for item in said
        )
    except (ValueError, LookupError, TypeError) as error:
        text = (done.stderr or done.stdout).strip()[:300]
        raise ExternalServiceError(f"hadolint gave no answer: {text}") from error
