"""The generated reference pages are those of this program."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_generated_reference_is_current(request):
    check = [] if request.config.getoption("--update-golden") else ["--check"]
    ended = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "reference.py"), *check],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
