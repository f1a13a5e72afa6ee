"""``gauntlet analyze accuracy``."""

import json

import click

from gauntlet.warehouse.location import warehouse_option

_SAMPLES = "lm-eval samples (file or folder), BFCL folder, repetition:ID or run:ID[:SIDE]."


@click.command()
@click.option("--baseline", required=True, multiple=True, metavar="SAMPLES", help=_SAMPLES)
@click.option(
    "--candidate",
    required=True,
    multiple=True,
    metavar="SAMPLES",
    help="The same of the candidate. Either may be given several times: repeats.",
)
@click.option("--baseline-again", metavar="SAMPLES", help="The baseline asked a second time.")
@click.option(
    "--margin", type=float, default=0.02, show_default=True, help="Drop that matters, as a share."
)
@click.option("--alpha", type=float, default=0.05, show_default=True, help="Level, one-sided.")
@click.option("--task", help="Which task, where there are several.")
@click.option("--filter", "answer_filter", help="Which answer filter; default: the first.")
@click.option("--strata", type=click.Choice(["size", "equal"]), help="Weigh categories so.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@warehouse_option
def accuracy(
    *,
    baseline: tuple[str, ...],
    candidate: tuple[str, ...],
    baseline_again: str | None,
    margin: float,
    alpha: float,
    task: str | None,
    answer_filter: str | None,
    strata: str | None,
    as_json: bool,
    location: str,
) -> None:
    """Judge whether the candidate answers worse than the baseline, question by question.

    Exit 6 where it is worse, 5 where the measurement is invalid or missing, 2 where the questions
    do not match. Inconclusive and config-changed are 0: read the verdict.
    """
    from functools import partial

    from gauntlet.analyzer.accuracy.judge import judge_accuracy
    from gauntlet.analyzer.accuracy.report import report_lines
    from gauntlet.analyzer.accuracy.sources import read_repeats
    from gauntlet.core.errors import InvalidMeasurementError, NotQualifiedError, UsageError
    from gauntlet.warehouse.store import open_store

    if both := set(baseline) & set(candidate):
        raise UsageError(f"both sides are {', '.join(sorted(both))}: that would always be the same")
    read = partial(
        read_repeats,
        store=partial(open_store, location),
        task=task,
        answer_filter=answer_filter,
        tasks="joined" if strata else "one",
    )
    found = judge_accuracy(
        read(baseline),
        read(candidate),
        margin=margin,
        alpha=alpha,
        baseline_again=read((baseline_again,)) if baseline_again else None,
        weights=strata,
    )
    if as_json:
        click.echo(json.dumps(found.plain(), indent=2))
    else:
        for line in report_lines(found):
            click.echo(line)
    outcome = found.verdict.outcome
    if outcome == "worse":
        raise NotQualifiedError(f"worse: {found.verdict.subject}")
    if outcome in {"invalid", "missing"}:
        raise InvalidMeasurementError(f"{outcome}: {found.verdict.reason}")
