"""``gauntlet analyze frontier``."""

import json
from pathlib import Path

import click

from gauntlet.analyzer.options import json_option, telemetry_option, where_option
from gauntlet.warehouse.location import warehouse_option


@click.command()
@click.option("--baseline", required=True, metavar="SEL", help="What to compare with.")
@click.option("--candidate", required=True, metavar="SEL", help="What is judged.")
@where_option
@telemetry_option
@click.option(
    "--margin-percent",
    type=click.FloatRange(0, 100, min_open=True, max_open=True),
    default=3.0,
    show_default=True,
    help="A smaller loss does not matter.",
)
@click.option(
    "--noise-percent",
    type=click.FloatRange(0, 100),
    default=1.0,
    show_default=True,
    help="Noise between sessions, where sides were not interleaved.",
)
@click.option(
    "--across-configurations", "across", is_flag=True, help="The sides differ in it on purpose."
)
@json_option
@warehouse_option
def frontier(
    *,
    baseline: str,
    candidate: str,
    where: tuple[str, ...],
    telemetry: Path | None,
    margin_percent: float,
    noise_percent: float,
    across: bool,
    as_json: bool,
    location: str,
) -> None:
    """Compare two sweeps: throughput per GPU against what one user sees; exit 6 where it is worse.

    SEL is run:ID[:baseline|candidate], image:sha256:DIGEST, commit:SHA, version:V, or result files
    (a folder, a glob, several with commas), each with filters such as ';point=concurrency=16'.
    """
    from gauntlet.analyzer.frontier.compare import compare_frontiers
    from gauntlet.analyzer.frontier.judge import Rule
    from gauntlet.analyzer.selection import load_sides
    from gauntlet.core.errors import NotQualifiedError

    measured = load_sides(baseline, candidate, location=location, telemetry=telemetry, where=where)
    rule = Rule(margin_percent=margin_percent, noise_percent=noise_percent)
    report = compare_frontiers(measured, rule, across=across)
    click.echo(json.dumps(report.plain(), indent=2) if as_json else "\n".join(report.lines()))
    worse = [v.subject for v in report.verdicts if v.blocking and v.outcome == "worse"]
    if worse:
        raise NotQualifiedError(f"worse: {', '.join(worse)}")
