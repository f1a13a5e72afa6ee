"""Ports of this machine: a free one, and whether a wanted one is."""

import errno
import ipaddress
import socket

from gauntlet.harness.engines.errors import EngineError


def free_port(host: str = "127.0.0.1") -> int:
    """Return a port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind((host, 0))
        port: int = probe.getsockname()[1]
        return port


def check_port(host: str, port: int, *, who: str) -> None:
    """Raise EngineError where something listens on the port already; ``who`` wants it."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        # A connection of an earlier server that is still closing does not count.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                return  # not an address of this machine's own: the engine itself will tell
            msg = f"{who} cannot start: port {port} of {host} is taken"
            hint = (
                f"see who has it (ss -ltnp 'sport = :{port}') and stop it, or choose another port"
            )
            raise EngineError(msg, hint=hint) from error


def is_loopback(host: str) -> bool:
    """Whether a host name or address is this machine itself."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
