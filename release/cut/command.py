"""``release cut``."""

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
    from gauntlet.release.cut.rank import Ranking
    from gauntlet.release.cut.rules import HealthRules
    from gauntlet.release.version import ReleaseVersion


@click.command()
@click.argument("version", type=VERSION, metavar="vX.Y.Z")
@click.option("--commit", default="", metavar="SHA", help="Cut here, not where it is proposed.")
@click.option("--reason", default="", help="Why there; needed with --commit.")
@click.option("--previous", default="", metavar="TAG", help="Measure against another release.")
@click.option("--remote", default="", help="The remote.  [default: the policy's]")
@acting_options
@json_option
@by_option
@repository_option
@releases_option
@policy_option
@warehouse_option
def cut(
    *,
    version: "ReleaseVersion",
    commit: str,
    reason: str,
    previous: str,
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
    """Choose the greenest commit of main, and make the branch releases/vX.Y.Z at it.

    Run again it goes on where it stopped. Exit 6: no build of main is good enough.
    """
    from gauntlet.core.clock import utc_now
    from gauntlet.release.cut.use import CutRequest, look, perform, plan_cut
    from gauntlet.release.folder import ReleaseFolder
    from gauntlet.release.offices import office_of, remote_of, warn_of_dirt
    from gauntlet.release.policy import load_release_policy

    rules = load_release_policy(policy)
    where = remote_of(rules, repository, remote)
    person = who(by, repository)
    request = CutRequest(
        version=version, by=person, now=utc_now(), commit=commit, reason=reason, previous=previous
    )
    warn_of_dirt(repository)
    folder = ReleaseFolder.of(releases, version)
    seen = look(where, version)
    ranking = None
    if seen.marker is None:
        ranking = _ranking(rules.health, where.base, location, needed=not commit)
    if ranking is not None and not as_json:
        _say(ranking)
    plan = plan_cut(request, seen, where, kept=folder.find(), ranking=ranking)
    done = False
    if not dry_run:
        confirm(plan.lines(), yes=yes or plan.kind == "known", what=f"Cut {version}?")
        done = perform(plan, where, folder, office_of(rules, location), person)
    _show(plan.state.model_dump(mode="json"), plan.lines(), ranking, done=done, as_json=as_json)


def _ranking(rules: "HealthRules", branch: str, location: str, *, needed: bool) -> "Ranking | None":
    """Rank what the warehouse has; None where it does not answer and a commit is given."""
    from gauntlet.core.clock import utc_now
    from gauntlet.core.errors import GauntletError, UsageError
    from gauntlet.release.cut.facts import read_known
    from gauntlet.release.cut.rank import rank
    from gauntlet.warehouse.store import open_store

    try:
        if "://" not in location and not Path(location).exists():
            msg = f"there is no warehouse {location}, so no build is known"
            raise UsageError(msg, hint="--warehouse, or gauntlet ingest; or --commit and --reason")
        with open_store(location) as store:
            known = read_known(store, rules, branch)
    except GauntletError as error:
        if needed:
            raise
        click.echo(f"warning: nothing is proposed: {error.message}", err=True)
        return None
    return rank(
        known.builds,
        rules,
        quarantined=known.quarantined,
        newest_position=known.newest_position,
        now=utc_now(),
    )


def _say(ranking: "Ranking") -> None:
    from gauntlet.release.cut.layout import ranking_lines

    for line in ranking_lines(ranking):
        click.echo(line)


def _show(
    state: dict[str, object],
    lines: list[str],
    ranking: "Ranking | None",
    *,
    done: bool,
    as_json: bool,
) -> None:
    import json

    from gauntlet.release.cut.layout import plain_ranking

    if as_json:
        told = {"made": done, "release": state, "ranking": None}
        if ranking is not None:
            told["ranking"] = plain_ranking(ranking)
        click.echo(json.dumps(told, indent=2))
        return
    for line in lines:
        click.echo(line)
    if done:
        click.echo(f"made {state['branch']}; next: release picks {state['version']}", err=True)
