"""``gauntlet analyze compare``."""

import json
from pathlib import Path

import click

from gauntlet.analyzer.options import json_option, telemetry_option, where_option
from gauntlet.warehouse.location import warehouse_option


@click.command()
@click.argument("sides", nargs=-1, metavar="[RUN_ID | A B]")
@click.option("--baseline", metavar="SEL", help="What to compare with; the same as A.")
@click.option("--candidate", metavar="SEL", help="What is judged; the same as B.")
@where_option
@telemetry_option
@click.option(
    "--margins",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Margins other than the shipped ones.",
)
@click.option(
    "--false-alarm-rate",
    type=click.FloatRange(0, 0.5, min_open=True, max_open=True),
    default=0.01,
    show_default=True,
    help="Chance that an unchanged build is called worse in anything that blocks.",
)
@click.option("--dry-run", is_flag=True, help="Judge a run, but record nothing.")
@click.option("--all", "whole", is_flag=True, help="List also what only informs.")
@json_option
@warehouse_option
def compare(
    *,
    sides: tuple[str, ...],
    baseline: str | None,
    candidate: str | None,
    where: tuple[str, ...],
    telemetry: Path | None,
    margins: Path | None,
    false_alarm_rate: float,
    dry_run: bool,
    whole: bool,
    as_json: bool,
    location: str,
) -> None:
    """Is the candidate slower or worse than the baseline? Exit 6 where a blocking verdict is worse.

    RUN_ID is a run with two sides: its loads and evals are judged by its recipe, and the verdicts
    recorded. A and B are selectors: run:ID[:baseline|candidate], image:sha256:DIGEST, commit:SHA,
    version:V, or result files (a folder, a glob, several with commas), each with filters such as
    ';point=concurrency=16'. Their loads are judged by the margins file, and nothing is recorded.
    """
    from gauntlet.analyzer.compare_use import Asked, compare_run_and_record, compare_selected
    from gauntlet.core.errors import NotQualifiedError

    asked = Asked.of(sides, baseline, candidate)
    if asked.run_id is not None:
        asked.refuse_with_run(
            where=where, telemetry=telemetry, margins=margins, rate=false_alarm_rate != 0.01
        )
        comparison = compare_run_and_record(location, asked.run_id, record=not dry_run)
    else:
        comparison = compare_selected(
            asked,
            location=location,
            where=where,
            telemetry=telemetry,
            margins=margins,
            false_alarm_rate=false_alarm_rate,
        )
    if as_json:
        click.echo(json.dumps(comparison.plain(), indent=2))
    else:
        click.echo("\n".join(comparison.lines(whole=whole)))
    worse = [v.subject for v in comparison.verdicts if v.blocking and v.outcome == "worse"]
    if worse:
        raise NotQualifiedError(f"worse: {len(worse)} blocking verdicts, such as {worse[0]}")
