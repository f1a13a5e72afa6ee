"""``release candidate``."""

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
    from gauntlet.release.picks.candidate import CandidatePlan
    from gauntlet.release.version import ReleaseVersion


@click.command()
@click.argument("version", type=VERSION, metavar="vX.Y.Z")
@click.option("--remote", default="", help="The remote.  [default: the policy's]")
@acting_options
@json_option
@by_option
@repository_option
@releases_option
@policy_option
@warehouse_option
def candidate(
    *,
    version: "ReleaseVersion",
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
    """Tag the head of a release's branch as its next candidate, vX.Y.ZrcN.

    A head that has its candidate keeps it. Exit 6: the branch has a commit that main has not and
    the policy's allow does not let it have, or a candidate's tag was moved.
    """
    from gauntlet.core.clock import utc_now
    from gauntlet.core.findings import errors_of
    from gauntlet.release.folder import ReleaseFolder
    from gauntlet.release.offices import office_of, remote_of, warn_of_dirt
    from gauntlet.release.picks.candidate import perform_candidate, plan_candidate
    from gauntlet.release.policy import load_release_policy

    rules = load_release_policy(policy)
    where = remote_of(rules, repository, remote)
    folder = ReleaseFolder.of(releases, version)
    warn_of_dirt(repository)
    plan = plan_candidate(
        version, where, folder.load(), rules.allow, by=who(by, repository), now=utc_now()
    )
    barred = bool(errors_of(plan.findings))
    made = False
    _tell(plan, as_json=as_json)
    if barred or not dry_run:
        what = f"Tag {plan.candidate.name}?"
        confirm([], yes=yes or plan.known or barred, what=what)
        made = perform_candidate(plan, where, folder, office_of(rules, location))
    _end(plan, made=made, as_json=as_json)


def _tell(plan: "CandidatePlan", *, as_json: bool) -> None:
    """Show the plan; with JSON what is wrong, for people, as the rest is told at the end."""
    from gauntlet.release.picks.layout import candidate_lines

    for line in [finding.line() for finding in plan.findings] if as_json else candidate_lines(plan):
        click.echo(line, err=as_json)


def _end(plan: "CandidatePlan", *, made: bool, as_json: bool) -> None:
    import json

    from gauntlet.release.picks.layout import plain_candidate

    if as_json:
        click.echo(json.dumps(plain_candidate(plan, made=made), indent=2))
    elif made:
        name = plan.candidate.name
        click.echo(f"tagged {name}; next: release build {name}", err=True)
