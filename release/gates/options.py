"""Options that the commands about gates share."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from gauntlet.release.matrix.plan_command import matrix_option
from gauntlet.release.options import policy_option, releases_option, repository_option
from gauntlet.warehouse.location import warehouse_option

if TYPE_CHECKING:
    from gauntlet.release.gates.use import Place

CommandT = TypeVar("CommandT", bound=Callable[..., object])


def place_options(function: CommandT) -> CommandT:
    """Add where everything about a release is."""
    for add in (warehouse_option, releases_option, matrix_option, policy_option, repository_option):
        function = add(function)
    return function


def place_of(
    repository: Path, releases: Path, location: str, policy: Path | None, matrix: Path | None
) -> "Place":
    """Load the policy and the matrix. Raises ConfigError with every mistake in them."""
    from gauntlet.release.gates.use import Place
    from gauntlet.release.matrix.model import load_matrix
    from gauntlet.release.policy import load_release_policy

    return Place(
        repository=repository,
        releases=releases,
        location=location,
        policy=load_release_policy(policy),
        matrix=load_matrix(matrix),
    )
