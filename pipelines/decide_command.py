"""Commands that decide on a change: parse, ask the use case, render."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import click

from gauntlet import __version__
from gauntlet.core.errors import ExitCode
from gauntlet.core.files import write_atomic
from gauntlet.pipelines import artifacts, changes, report
from gauntlet.pipelines.decide import DecideRequest, DecisionResult, decide
from gauntlet.pipelines.decisions import Decision
from gauntlet.pipelines.differences import compare_rules
from gauntlet.pipelines.inputs import with_decision
from gauntlet.pipelines.outputs import write_artifacts
from gauntlet.pipelines.selection import unknown_job
from gauntlet.pipelines.timings import load_timings

_Command = Callable[..., Any]


def _outputs(command: _Command) -> _Command:
    """Add the options that say where a decision is written."""
    options = (
        click.option("--out", default="-", metavar="FILE|-", help="The pipeline.  [default: -]"),
        click.option(
            "--artifacts",
            "folder",
            type=click.Path(path_type=Path),
            metavar="DIR",
            help="Also write the pipeline, all decisions, all inputs and an annotation here.",
        ),
        click.option(
            "--timings",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="Measured durations, for what the annotation expects.",
        ),
        click.option("--dry-run", is_flag=True, help="Write nothing; print the pipeline."),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.command()
@with_decision
@click.option("--json", "as_json", is_flag=True, help="Print every decision as JSON.")
@click.option(
    "--explain-difference", is_flag=True, help="Say where this departs from vLLM's own rule."
)
def select(result: DecisionResult, as_json: bool, explain_difference: bool) -> None:
    """Say which jobs a change can break, and why."""
    compared = None
    if explain_difference:
        request = result.request
        compared = compare_rules(result.definitions, request.changes, request.options)
    if as_json:
        record = artifacts.selection_record(result.selection)
        if compared:
            record["differences"] = artifacts.difference_records(compared)
        click.echo(json.dumps(record, indent=1))
    else:
        _print(report.selection_lines(result))
        _print(report.difference_lines(compared) if compared else ())
    _finish(result)


@click.command()
@with_decision
@_outputs
def generate(
    result: DecisionResult, out: str, folder: Path | None, timings: Path | None, dry_run: bool
) -> None:
    """Write the pipeline for a change."""
    _write(result, out, folder, timings, dry_run=dry_run)


@click.command()
@click.argument("parameters", type=click.Path(path_type=Path))
@_outputs
def replay(
    parameters: Path, out: str, folder: Path | None, timings: Path | None, dry_run: bool
) -> None:
    """Make a recorded decision again, from its parameters.json alone."""
    recorded = artifacts.load_parameters(parameters).gauntlet_version
    if recorded != __version__:
        click.echo(f"note: recorded by Gauntlet {recorded}, this is {__version__}", err=True)
    result = decide(DecideRequest.from_parameters(parameters))
    _write(result, out, folder, timings, dry_run=dry_run)


@click.command()
@click.argument("key")
@with_decision
@click.option("--json", "as_json", is_flag=True, help="Print the decision as JSON.")
def explain(result: DecisionResult, key: str, as_json: bool) -> None:
    """Say what becomes of the job KEY, with every reason."""
    _explain(result, key, report.explain_lines, as_json=as_json)


@click.command("why-not")
@click.argument("key")
@with_decision
@click.option("--json", "as_json", is_flag=True, help="Print the decision as JSON.")
def why_not(result: DecisionResult, key: str, as_json: bool) -> None:
    """Say why the job KEY does not run, and what would make it run."""
    _explain(result, key, report.why_not_lines, as_json=as_json)


@click.command()
@click.argument("name", required=False)
def examples(name: str | None) -> None:
    """List the built-in changes, or print one."""
    if name:
        click.echo(changes.example_text(name), nl=False)
        return
    for known in changes.example_names():
        title = changes.example_text(known).partition("\n")[0].removeprefix("# ")
        click.echo(f"{known:<16} {title}")


def _explain(
    result: DecisionResult,
    key: str,
    lines: Callable[[DecisionResult, Decision], report.Lines],
    *,
    as_json: bool,
) -> None:
    decision = result.selection.by_key.get(key)
    if decision is None:
        raise unknown_job(key, result.selection.by_key)
    if as_json:
        click.echo(json.dumps(artifacts.decision_record(decision), indent=1))
    else:
        _print(lines(result, decision))


def _write(
    result: DecisionResult, out: str, folder: Path | None, timings: Path | None, *, dry_run: bool
) -> None:
    measured = load_timings(timings) if timings else None
    if dry_run or out == "-":
        # Bytes: the encoding of a terminal must not get into the pipeline.
        click.echo(result.pipeline_yaml.encode(), nl=False)
    else:
        click.echo(f"wrote {write_atomic(Path(out), result.pipeline_yaml)}", err=True)
    if folder is not None and not dry_run:
        for path in write_artifacts(result, folder, measured):
            click.echo(f"wrote {path}", err=True)
    for line in (*report.summary_lines(result), *result.sharding):
        click.echo(line, err=True)
    _finish(result)


def _print(lines: report.Lines) -> None:
    for line in lines:
        click.echo(line)


def _finish(result: DecisionResult) -> None:
    if not result.plan.groups:
        click.echo(result.plan.notice, err=True)
        _exit(ExitCode.NOTHING_SELECTED)


def _exit(code: ExitCode) -> NoReturn:
    click.get_current_context().exit(int(code))
