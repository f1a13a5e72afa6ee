"""Put the fake ``kubectl`` on PATH for one test, and end what it left running."""

import contextlib
import os
import signal
import sys
from pathlib import Path


def install(folder, clean):
    """Return the folder that stands for the cluster; ``clean`` gets what undoes all this."""
    state, binaries = folder / "cluster", folder / "bin"
    state.mkdir()
    binaries.mkdir()
    script = Path(__file__).with_name("fake_kubectl.py")
    binary = binaries / "kubectl"
    binary.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S {script} "$@"\n')
    binary.chmod(0o755)
    before = os.environ["PATH"]
    os.environ["PATH"] = f"{binaries}:{before}"
    os.environ["FAKE_KUBE"] = str(state)

    def undo():
        os.environ["PATH"] = before
        del os.environ["FAKE_KUBE"]
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            os.kill(int((state / "pid").read_text()), signal.SIGKILL)

    clean.append(undo)
    return state
