"""Compile lockfiles/ from pyproject.toml, with hashes and without any index host.

Versions already locked are kept; ``--upgrade`` takes the newest.
"""

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCKS = ROOT / "lockfiles"
PIP = "pip==26.2"
COMMON = [
    "--quiet",
    "--generate-hashes",
    "--no-strip-extras",  # pip wants ``name[extra]`` in the lock wherever a requirement has it
    "--no-header",  # the header would carry this machine's options
    "--no-annotate",
    "--python-version=3.11",
]


def uv() -> str:
    """Path of uv: beside this interpreter, or on PATH."""
    beside = Path(sys.executable).with_name("uv")
    found = str(beside) if beside.exists() else shutil.which("uv")
    if not found:
        sys.exit("uv is not installed; run `make venv` first")
    return found


def compile_lock(output: Path, arguments: list[str], *, text: str | None = None) -> None:
    """Run uv's resolver; versions already in ``output`` are kept where they still fit."""
    command = [uv(), "pip", "compile", *COMMON, "--output-file", str(output), *arguments]
    subprocess.run(command, cwd=ROOT, check=True, text=True, input=text, stdout=subprocess.DEVNULL)


def main() -> None:
    """Parse the command line and compile every lock."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--upgrade", action="store_true", help="take the newest versions")
    upgrade = ["--upgrade"] if parser.parse_args().upgrade else []
    compile_lock(LOCKS / "pip.txt", [*upgrade, "-"], text=PIP)
    compile_lock(LOCKS / "dev.txt", [*upgrade, "--all-extras", "--group=dev", "pyproject.toml"])
    overrides = f"--override={LOCKS / 'engine-cpu.overrides'}"
    compile_lock(LOCKS / "engine-cpu.txt", [*upgrade, overrides, str(LOCKS / "engine-cpu.in")])
    overrides = f"--override={LOCKS / 'bfcl.overrides'}"
    compile_lock(LOCKS / "bfcl.txt", [*upgrade, overrides, str(LOCKS / "bfcl.in")])


if __name__ == "__main__":
    main()
