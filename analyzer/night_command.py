"""``gauntlet nightly``."""

import json
from datetime import datetime
from pathlib import Path

import click

from gauntlet.analyzer.options import branch_option, json_option
from gauntlet.warehouse.location import warehouse_option


@click.command()
@click.option(
    "--date",
    "day",
    type=click.DateTime(["%Y-%m-%d"]),
    help="The night, a UTC day.  [default: yesterday]",
)
@branch_option
@click.option(
    "--policy",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="What may be done without a person.  [default: nothing]",
)
@click.option(
    "--repo",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A clone of the engine, for commits and reverts.",
)
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(".gauntlet/nightly"),
    show_default=True,
    help="Where nights keep their state and reports.",
)
@click.option("--again", is_flag=True, help="Do steps that are done once more.")
@click.option(
    "--dry-run", is_flag=True, help="Look and report, but record, change and send nothing."
)
@json_option
@warehouse_option
@click.pass_context
def nightly(
    context: click.Context,
    *,
    day: datetime | None,
    branch: str,
    policy: Path | None,
    repo: Path | None,
    folder: Path,
    again: bool,
    dry_run: bool,
    as_json: bool,
    location: str,
) -> None:
    """Do everything that a night needs: ingest, judge, classify, incidents, probes, act, report.

    A night that was killed goes on where it stopped; done twice, it changes nothing. Exit 6 where
    something is newly broken or worse, 5 where expected points are missing, 4 or 7 where a step
    could not look.
    """
    from datetime import timedelta

    from gauntlet.analyzer.acting.policy import load_policy
    from gauntlet.analyzer.nightly.all_steps import STEPS
    from gauntlet.analyzer.nightly.journal import open_night
    from gauntlet.analyzer.nightly.night import Night, run_night
    from gauntlet.core.clock import utc_now
    from gauntlet.core.proc import terminable
    from gauntlet.services.connect import chat, code_host

    loaded = load_policy(policy)
    night = Night(
        date=day.date() if day else utc_now().date() - timedelta(days=1),
        branch=branch,
        location=location,
        policy=loaded,
        repository=repo,
        host=code_host(loaded.repository),
        chat=chat(loaded.chat),
        dry_run=dry_run,
    )
    root = folder / "dry-run" if dry_run else folder
    with terminable(), open_night(root, night.date, branch) as opened:
        if again or dry_run:
            opened.forget()
        ending = run_night(night, opened, STEPS, lambda line: click.echo(line, err=True))
    if as_json:
        shown = {"night": str(night.date), **ending.plain()}
        click.echo(json.dumps({**shown, "folder": str(opened.folder)}, indent=2))
    else:
        click.echo((opened.folder / "report.md").read_text(encoding="utf-8"), nl=False)
    context.exit(ending.exit_code)
