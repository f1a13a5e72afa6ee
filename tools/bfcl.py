"""Make the environment of bfcl-eval (`make bfcl`): 570 MB, about a minute, no torch.

An environment of its own, because bfcl-eval pins libraries that do not fit beside ours. What is
installed is locked with hashes.
"""

import argparse
import subprocess
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "lockfiles" / "bfcl.txt"
BUILD = ROOT / "lockfiles" / "build-constraints.txt"


def install(environment: Path) -> None:
    """Make the environment and install the lock."""
    python = environment / "bin" / "python"
    if not python.exists():
        venv.create(environment, with_pip=True)
    pip = [str(python), "-m", "pip", "install", "--disable-pip-version-check", "--quiet"]
    # Without dependencies: the lock is whole, and leaves out on purpose what would bring torch.
    locked = ["--require-hashes", "--no-deps", "-r", str(LOCK), "--build-constraint", str(BUILD)]
    subprocess.run([*pip, *locked], check=True)


def check(environment: Path) -> str:
    """Import what an evaluation imports and return the version of bfcl-eval."""
    code = (
        "import bfcl_eval.eval_checker.eval_runner, bfcl_eval._llm_response_generation\n"
        "from importlib.metadata import version; print(version('bfcl-eval'))"
    )
    command = [str(environment / "bin" / "python"), "-c", code]
    env = {"BFCL_PROJECT_ROOT": str(environment / "project")}
    done = subprocess.run(command, check=True, env=env, capture_output=True, text=True)
    return done.stdout.split()[-1]


def main() -> None:
    """Parse the command line, install and check."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--venv", type=Path, default=ROOT / ".venv-bfcl")
    options = parser.parse_args()
    install(options.venv)
    print(f"bfcl-eval {check(options.venv)} in {options.venv}")


if __name__ == "__main__":
    main()
