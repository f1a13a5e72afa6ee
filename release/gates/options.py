"""Where everything about a release is: the options that its commands share."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gauntlet.release.matrix.plan_command import matrix_option
from gauntlet.release.options import policy_option, releases_option, repository_option, who
from gauntlet.warehouse.location import warehouse_option

if TYPE_CHECKING:
    from gauntlet.release.gates.use import Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """What the options named, not looked at yet."""

    repository: Path
    releases: Path
    location: str
    policy: Path | None
    matrix: Path | None

    def load(self) -> "Place":
        """Load the policy and the matrix. Raises ConfigError with every mistake in them."""
        from gauntlet.release.gates.use import Place
        from gauntlet.release.matrix.model import load_matrix
        from gauntlet.release.policy import load_release_policy

        return Place(
            repository=self.repository,
            releases=self.releases,
            location=self.location,
            policy=load_release_policy(self.policy),
            matrix=load_matrix(self.matrix),
        )

    def who(self, by: str) -> str:
        """Name of the person at the keyboard, as `gauntlet.release.options.who` finds it."""
        return who(by, self.repository)


def place_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options, and give them to the command as one value, ``places``."""

    @functools.wraps(function)
    def command(
        *,
        repository: Path,
        releases: Path,
        location: str,
        policy: Path | None,
        matrix: Path | None,
        **rest: object,
    ) -> None:
        places = Places(
            repository=repository,
            releases=releases,
            location=location,
            policy=policy,
            matrix=matrix,
        )
        function(places=places, **rest)

    asked: Callable[..., None] = command
    for add in (warehouse_option, releases_option, matrix_option, policy_option, repository_option):
        asked = add(asked)
    return asked
