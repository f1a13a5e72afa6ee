"""``gauntlet incidents``."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gauntlet.analyzer.options import branch_option, json_option
from gauntlet.warehouse.location import warehouse_option

if TYPE_CHECKING:
    from gauntlet.analyzer.incidents.update import Look, Picture
    from gauntlet.analyzer.incidents_bisect import BisectIncident

_commits_option = click.option(
    "--commits",
    type=click.IntRange(2, 5000),
    default=200,
    show_default=True,
    help="How many of the branch's newest commits count.",
)


@click.group(invoke_without_command=True)
@branch_option
@_commits_option
@json_option
@warehouse_option
@click.pass_context
def incidents(
    context: click.Context, *, branch: str, commits: int, as_json: bool, location: str
) -> None:
    """Show what is broken on a branch, since when, and what to do next.

    Without a command: the open incidents, found anew from what ran; nothing is recorded.
    """
    import json

    from gauntlet.analyzer.incidents.layout import picture_lines

    if context.invoked_subcommand is not None:
        return
    found = _look(branch, commits, location)
    shown = json.dumps(found.plain(), indent=2) if as_json else "\n".join(picture_lines(found))
    click.echo(shown)


@incidents.command()
@branch_option
@_commits_option
@click.option("--dry-run", is_flag=True, help="Say what would be recorded.")
@json_option
@warehouse_option
def update(*, branch: str, commits: int, dry_run: bool, as_json: bool, location: str) -> None:
    """Record what is new, what changed and what has ended; what is known adds nothing."""
    import json

    from gauntlet.analyzer.incidents.update import decisions, record

    found = _look(branch, commits, location)
    rows = decisions(found)
    if not dry_run:
        record(found, location)
    if as_json:
        told = [{"id": r.subject, "outcome": r.outcome, "reason": r.reason} for r in rows]
        click.echo(json.dumps({"recorded": not dry_run, "decisions": told}, indent=2))
        return
    for row in rows:
        click.echo(f"{row.subject}  {row.outcome}  {row.reason}")
    verb = "would be recorded" if dry_run else "recorded"
    click.echo(f"{len(rows)} {verb}, {len(found.incidents)} open", err=True)


@incidents.command()
@click.argument("incident_id")
@branch_option
@_commits_option
@json_option
@warehouse_option
def show(*, incident_id: str, branch: str, commits: int, as_json: bool, location: str) -> None:
    """Show one open incident whole: suspects, evidence, what changed. ID may be cut short."""
    import json

    from gauntlet.analyzer.incidents.layout import incident_lines
    from gauntlet.analyzer.incidents.update import one_of

    incident = one_of(_look(branch, commits, location), incident_id).incident
    shown = {"id": incident.incident_id, **incident.plain()}
    click.echo(json.dumps(shown, indent=2) if as_json else "\n".join(incident_lines(incident)))


@incidents.command()
@click.option("--pull-request", type=click.IntRange(1), required=True, metavar="N")
@click.option("--job", required=True, metavar="KEY", help="The job that failed.")
@click.option("--test", "tests", multiple=True, metavar="NODEID", help="A test that failed in it.")
@click.option("--signature", default="", help="Without tests: as gauntlet classify names it.")
@branch_option
@_commits_option
@json_option
@warehouse_option
def whose(
    *,
    pull_request: int,
    job: str,
    tests: tuple[str, ...],
    signature: str,
    branch: str,
    commits: int,
    as_json: bool,
    location: str,
) -> None:
    """Say whose a failure of a pull request is: its own, the branch's, or a flake.

    What the branch showed of the same failure decides. An earlier landing of the same pull request
    that broke the branch makes it its own.
    """
    import json

    from gauntlet.analyzer.incidents.pull_request import failure_of, judge_pull_request
    from gauntlet.core.errors import UsageError

    if not tests and not signature:
        hint = "give --test NODEID, or --signature as gauntlet classify prints it"
        raise UsageError("nothing says what failed", hint=hint)
    history = _see(branch, commits, location).history
    failed = failure_of(job, tests, signature, history.now)
    found = judge_pull_request(failed, pull_request, history)
    landing = found.landing.sha if found.landing else None
    told = {"whose": found.whose, "reason": found.reason, "landing": landing}
    click.echo(json.dumps(told, indent=2) if as_json else f"{found.whose}: {found.reason}")


@incidents.command()
@click.argument("incident_id")
@click.option(
    "--repo",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=Path(),
    help="A clone of the engine.  [default: .]",
)
@click.option(
    "--policy",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Names remote, base branch and prefix.",
)
@click.option("--dry-run", is_flag=True, help="Try it, but leave no branch.")
@branch_option
@_commits_option
@json_option
@warehouse_option
def revert(
    *,
    incident_id: str,
    repo: Path,
    policy: Path | None,
    dry_run: bool,
    branch: str,
    commits: int,
    as_json: bool,
    location: str,
) -> None:
    """Make a branch that takes the proven culprit back, and the text of its pull request.

    Nothing is pushed. Where the revert does not apply, the order of what has to go first is told.
    """
    import json

    from gauntlet.analyzer.acting.policy import load_policy
    from gauntlet.analyzer.incidents.update import one_of
    from gauntlet.analyzer.incidents_revert import prepare_revert

    seen = _see(branch, commits, location)
    incident = one_of(seen.picture, incident_id).incident
    mainline = seen.history.mainline
    made = prepare_revert(incident, mainline, repo, load_policy(policy), dry_run=dry_run)
    shown = json.dumps(made.plain(), indent=2) if as_json else f"{made.title}\n\n{made.body}"
    click.echo(shown)
    if made.branch.clean:
        verb = "would be" if dry_run else "is"
        click.echo(f"branch {made.branch.name} {verb} on {made.branch.base[:10]}", err=True)


@incidents.command()
@click.argument("incident_id")
@click.option("--reason", required=True, help="Why nobody need act on it.")
@click.option("--actor", envvar="USER", default="unknown", help="Who says so.  [default: $USER]")
@click.option("--reopen", is_flag=True, help="Take it back: it counts again.")
@click.option("--dry-run", is_flag=True, help="Check, but record nothing.")
@warehouse_option
def ignore(
    *, incident_id: str, reason: str, actor: str, reopen: bool, dry_run: bool, location: str
) -> None:
    """Keep a recorded incident out of reports until it is over."""
    from gauntlet.analyzer.incidents.load import load_recorded
    from gauntlet.analyzer.incidents.update import Word, say, write_word
    from gauntlet.core.clock import utc_now
    from gauntlet.warehouse.store import open_store

    with open_store(location) as store:
        known = load_recorded(store)
    word: Word = "open" if reopen else "ignored"
    row = say(known, incident_id, word, reason=reason, actor=actor, at=utc_now())
    if not dry_run:
        write_word(row, location)
    click.echo(f"{row.subject}  {row.outcome}  {row.reason}")


@incidents.command()
@click.argument("incident_id")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--policy",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="How runs are made, and how many; its defaults need a COMMAND.",
)
@click.option(
    "--repo",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=Path(),
    metavar="DIR",
    help="The repository.  [default: .]",
)
@click.option("--via", type=click.Choice(["command", "buildkite"]), help="Else as the policy says.")
@click.option(
    "--state",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Where journals are kept.  [default: beside the warehouse]",
)
@click.option("--dry-run", is_flag=True, help="Print what would be run; run and record nothing.")
@branch_option
@_commits_option
@json_option
@warehouse_option
@click.pass_context
def bisect(context: click.Context, /, dry_run: bool, as_json: bool, **options: Any) -> None:  # noqa: ANN401
    """Find the culprit of an open incident, and record what was found. ID may be cut short.

    COMMAND after -- runs in worktrees of the repository; {tests} in it stands for the failing
    tests, {job} for the job. What the history tells is not run again, and the same call continues
    a search that was stopped. What is only suspected is run again first. Exit 0: culprit verified;
    3: no commit did it, or nothing was searched; 5: not proven.
    """
    import json

    from gauntlet.analyzer.incidents_bisect import bisect_incident, exit_code, plan_incident

    request = _bisect_request(**options)
    if dry_run:
        plan = plan_incident(request)
        click.echo(json.dumps(plan.plain(), indent=2) if as_json else "\n".join(plan.lines()))
        return
    found = bisect_incident(request, lambda line: click.echo(line, err=True))
    click.echo(json.dumps(found.plain(), indent=2) if as_json else "\n".join(found.lines()))
    context.exit(exit_code(found))


def _bisect_request(
    *,
    policy: Path | None,
    state: Path | None,
    location: str,
    **options: Any,  # noqa: ANN401
) -> "BisectIncident":
    from gauntlet.analyzer.acting.policy import load_policy
    from gauntlet.analyzer.incidents_bisect import BisectIncident
    from gauntlet.warehouse.location import folder_beside

    folder = state or folder_beside(location, "searches")
    return BisectIncident(policy=load_policy(policy), folder=folder, location=location, **options)


def _look(branch: str, commits: int, location: str) -> "Picture":
    return _see(branch, commits, location).picture


def _see(branch: str, commits: int, location: str) -> "Look":
    from gauntlet.analyzer.incidents.update import IncidentRequest, look
    from gauntlet.core.clock import utc_now
    from gauntlet.warehouse.store import open_store

    with open_store(location) as store:
        return look(store, IncidentRequest(branch=branch, commits=commits, now=utc_now()))
