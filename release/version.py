"""Versions of releases and their candidates, and the names that git knows them by."""

from dataclasses import dataclass
from typing import Self

from packaging.version import InvalidVersion, Version

from gauntlet.core.errors import UsageError

BRANCH_PREFIX = "releases/"


@dataclass(frozen=True, slots=True, order=True)
class ReleaseVersion:
    """``v1.2.3``, or its candidate ``v1.2.3rc4``; candidates come in order before the release."""

    release: tuple[int, ...]
    candidate: float | int = float("inf")

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``v1.2.3``, ``1.2.3`` or ``v1.2.3rc4``.

        Raises UsageError for anything else: development, local, post and epoch versions are none
        that can be released.
        """
        try:
            found = Version(text)
        except InvalidVersion as error:
            msg = f"not a version: {text!r}"
            raise UsageError(msg, hint="write it as v1.2.3, or v1.2.3rc1") from error
        pre = found.pre
        odd = found.is_devrelease or found.local or found.is_postrelease or found.epoch
        if odd or len(found.release) != 3 or (pre and (pre[0] != "rc" or pre[1] < 1)):
            msg = f"{text!r} cannot be released"
            hint = "a release is v1.2.3, a candidate v1.2.3rc1: no dev, post or local part"
            raise UsageError(msg, hint=hint)
        return cls(found.release, pre[1] if pre else float("inf"))

    @property
    def is_candidate(self) -> bool:
        """Whether this is a candidate, and no release."""
        return self.candidate != float("inf")

    @property
    def final(self) -> "ReleaseVersion":
        """The release that this is, or is a candidate of."""
        return ReleaseVersion(self.release)

    def rc(self, number: int) -> "ReleaseVersion":
        """The candidate of this release with a number, from 1 on."""
        return ReleaseVersion(self.release, number)

    @property
    def python(self) -> str:
        """As packages carry it: ``1.2.3``."""
        base = ".".join(map(str, self.release))
        return f"{base}rc{self.candidate}" if self.is_candidate else base

    @property
    def tag(self) -> str:
        """The git tag: ``v1.2.3rc4``."""
        return f"v{self.python}"

    @property
    def branch(self) -> str:
        """The branch that the release and all its candidates are on."""
        return f"{BRANCH_PREFIX}{self.final.tag}"

    def __str__(self) -> str:
        return self.tag
