"""Ports for servers that tests start."""

import socket
import time


def free_port():
    """A port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_listening(port, process, within_s=30.0):
    """Wait until something listens; fail where the process ends or the time is over."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError(f"nothing listens on port {port}; exit status {process.poll()}")
