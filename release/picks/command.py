"""``release picks``."""

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gauntlet.release.options import (
    VERSION,
    acting_options,
    by_option,
    confirm,
    json_option,
    policy_option,
    releases_option,
    repository_option,
    who,
)
from gauntlet.warehouse.location import warehouse_option

if TYPE_CHECKING:
    from gauntlet.release.picks.facts import Standing
    from gauntlet.release.picks.plan import Wanted
    from gauntlet.release.picks.use import PicksPlan, PicksRequest
    from gauntlet.release.policy import ReleasePolicy
    from gauntlet.release.version import ReleaseVersion


@click.command()
@click.argument("version", type=VERSION, metavar="vX.Y.Z")
@click.argument("names", nargs=-1, metavar="[SHA|PR]...")
@click.option("--label", default="", help="What merged pull requests with a label brought.")
@click.option("--milestone", default="", help="What merged pull requests of a milestone brought.")
@click.option(
    "--from",
    "file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A file of ids and numbers, one a line.",
)
@click.option("--apply", "wants_it", is_flag=True, help="Push what applies to the branch.")
@click.option("--blocker", default="", metavar="REASON", help="All of it mends this blocker.")
@click.option("--waive", default="", metavar="REASON", help="Pick after the window; recorded.")
@click.option("--remote", default="", help="The remote.  [default: the policy's]")
@acting_options
@json_option
@by_option
@repository_option
@releases_option
@policy_option
@warehouse_option
def picks(
    *,
    version: "ReleaseVersion",
    names: tuple[str, ...],
    label: str,
    milestone: str,
    file: Path | None,
    wants_it: bool,
    blocker: str,
    waive: str,
    remote: str,
    dry_run: bool,
    yes: bool,
    as_json: bool,
    by: str,
    repository: Path,
    releases: Path,
    policy: Path | None,
    location: str,
) -> None:
    """Say what becomes of changes of main on a release's branch; with --apply bring them there.

    Exit 6: something that was asked for conflicts, is not on main, or comes after the window
    closed. What applies is brought nevertheless; a conflict is never resolved by taking a side.
    """
    from gauntlet.core.clock import utc_now
    from gauntlet.release.folder import ReleaseFolder
    from gauntlet.release.offices import office_of, remote_of
    from gauntlet.release.picks.sources import read_names
    from gauntlet.release.picks.use import PicksRequest, look, perform_picks, plan_picks
    from gauntlet.release.policy import load_release_policy

    rules = load_release_policy(policy)
    where = remote_of(rules, repository, remote)
    folder = ReleaseFolder.of(releases, version)
    state, standing = look(where, folder)
    asked = (*names, *(read_names(file) if file else ()))
    request = PicksRequest(
        version=version.final,
        by=who(by, repository),
        now=utc_now(),
        wanted=tuple(_wanted(rules, repository, standing, asked, label, milestone)),
        blocker=blocker,
        waive=waive,
    )
    plan = plan_picks(request, where, state, standing, rules.schedule)
    late = plan.late(request, rules.picks)
    _show(plan, request, late, as_json=as_json)
    if wants_it and not dry_run:
        # Without anything new there is nothing to ask about: only the state is brought up to date.
        what = f"Push {len(plan.fresh)} to {state.branch}?"
        confirm([], yes=yes or not plan.fresh or bool(late), what=what)
        perform_picks(plan, request, where, folder, office_of(rules, location), rules.picks)
    _end(plan)


def _wanted(
    rules: "ReleasePolicy",
    repository: Path,
    standing: "Standing",
    names: tuple[str, ...],
    label: str,
    milestone: str,
) -> "list[Wanted]":
    """Everything that is asked for; without anything what bears the policy's label."""
    from gauntlet.release.picks.sources import wanted_by_mark, wanted_by_name, with_labels
    from gauntlet.services.connect import code_host_if_any

    host = code_host_if_any(rules.repository)
    if not (names or label or milestone):
        label = rules.picks.label
    with contextlib.ExitStack() as stack:
        if host is not None:
            stack.callback(host.close)
        found = wanted_by_name(repository, names, standing.main, host)
        if label or milestone:
            found += wanted_by_mark(host, standing.main, label=label, milestone=milestone)
        return with_labels(found, standing.main, host)


def _show(
    plan: "PicksPlan", request: "PicksRequest", late: tuple[str, ...], *, as_json: bool
) -> None:
    import json

    from gauntlet.release.picks.layout import picks_lines, plain_picks

    if as_json:
        click.echo(json.dumps(plain_picks(plan, request, late), indent=2))
    else:
        click.echo("\n".join(picks_lines(plan, request, late)))


def _end(plan: "PicksPlan") -> None:
    """Raise NotQualifiedError where something that was asked for does not come."""
    from gauntlet.core.errors import NotQualifiedError

    if plan.left:
        names = ", ".join(f"{item.name} ({item.status})" for item in plan.left)
        raise NotQualifiedError(
            f"left out: {names}",
            hint="pick what it depends on as well, or resolve it by hand: git cherry-pick -x",
        )
