"""Who may act: nobody, unless an auth proxy names a user who is on the list. Pure."""

import hmac
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gauntlet.core.errors import UsageError

SECRET_HEADER = "X-Gauntlet-Proxy-Secret"  # noqa: S105 - the name of a header
_LEAST_SECRET = 16

Headers = Callable[[str], Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Actors:
    """Which header names the user, who is allowed, and the secret by which a proxy is known.

    Without ``header``, pages are read-only. Names are compared as they are, but for the case of
    letters.
    """

    header: str = ""
    allowed: frozenset[str] = frozenset()
    secret: str = ""

    @classmethod
    def of(cls, header: str | None, allowed: Sequence[str], secret_file: Path | None) -> "Actors":
        """Read what was given on the command line.

        Raises UsageError for a header without a list or a list without a header, and for a secret
        that is missing or shorter than 16 characters.
        """
        if not header:
            if allowed or secret_file:
                msg = "--allow and --proxy-secret mean nothing without --user-header"
                raise UsageError(msg, hint="name the header in which your proxy says who it is")
            return cls()
        if not allowed:
            msg = "--user-header without --allow: nobody could act"
            raise UsageError(msg, hint="--allow alice@example.com, once for each person")
        names = frozenset(name.strip().casefold() for name in allowed)
        return cls(header=header, allowed=names, secret=_secret(secret_file))

    def actor(self, headers: Headers) -> str | None:
        """Return the name of the user of a request who may act, None where there is none.

        ``headers`` gives all values of a header. A user who is named twice is nobody: a proxy that
        adds its header to one that came from outside would vouch for both.
        """
        if not self.header:
            return None
        if self.secret and not _same(headers(SECRET_HEADER), self.secret):
            return None
        named = headers(self.header)
        if len(named) != 1 or named[0].strip().casefold() not in self.allowed:
            return None
        return named[0].strip()


READ_ONLY = Actors()


def _secret(path: Path | None) -> str:
    if path is None:
        return ""
    try:
        secret = path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        msg = f"--proxy-secret {path}: cannot be read: {error}"
        raise UsageError(msg) from error
    if len(secret) < _LEAST_SECRET:
        msg = f"--proxy-secret {path}: {len(secret)} characters"
        raise UsageError(msg, hint=f"at least {_LEAST_SECRET}: openssl rand -hex 32 > {path}")
    return secret


def _same(given: Sequence[str], secret: str) -> bool:
    return len(given) == 1 and hmac.compare_digest(given[0].encode(), secret.encode())
