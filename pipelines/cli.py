"""Commands of the pipelines package: parse, ask the use case, render."""

import functools
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import click

from gauntlet import __version__
from gauntlet.core.errors import ExitCode, UsageError, nearest
from gauntlet.pipelines import artifacts, changes, report, sources
from gauntlet.pipelines.decide import DecideRequest, DecisionResult, decide, write_artifacts
from gauntlet.pipelines.selection import Decision

_OPTIONS = (
    click.option(
        "--definitions",
        "--engine-source",
        "definitions",
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="Root of a source tree of the engine.",
    ),
    click.option(
        "--engine-version",
        metavar="VERSION",
        help=f"Get this version's source from the package index instead, such as "
        f"{sources.DEFAULT_VERSION}.",
    ),
    click.option(
        "--config",
        default=sources.CONFIG_PATH,
        show_default=True,
        metavar="FILE",
        help="Pipeline configuration, relative to the tree.",
    ),
    click.option("--changes", "changes_file", metavar="FILE|-", help="Name-status lines."),
    click.option("--git", "revision_range", metavar="BASE..HEAD", help="Changes from git."),
    click.option("--example", metavar="NAME", help="A built-in change; see `examples`."),
    click.option("--nightly", is_flag=True, help="Run every job, optional ones too."),
    click.option(
        "--cache-dir",
        type=click.Path(path_type=Path),
        envvar="GAUNTLET_CACHE_DIR",
        metavar="DIR",
        help="Where fetched sources are kept.",
    ),
)


def _inputs(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that say what to decide on; the command gets the decision itself."""

    @functools.wraps(command)
    def wrapped(
        *,
        definitions: Path | None,
        engine_version: str | None,
        config: str,
        changes_file: str | None,
        revision_range: str | None,
        example: str | None,
        nightly: bool,
        cache_dir: Path | None,
        **rest: object,
    ) -> None:
        # The list first: it is quick to refuse, and a source may have to be fetched.
        changed = _changes(changes_file, revision_range, example, definitions, nightly=nightly)
        source = _source(definitions, engine_version, config, cache_dir)
        request = DecideRequest.from_source(source, changed, nightly=nightly, config=config)
        result = decide(request)
        for line in report.problem_lines(result):
            click.echo(line, err=True)
        command(result=result, **rest)

    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped


@click.group()
def pipelines() -> None:
    """From a diff to a Buildkite pipeline: definitions, changes, selection, plan, pipeline."""


@pipelines.command()
@_inputs
@click.option("--json", "as_json", is_flag=True, help="Print every decision as JSON.")
def select(result: DecisionResult, as_json: bool) -> None:
    """Say which jobs a change can break, and why."""
    if as_json:
        click.echo(json.dumps(artifacts.selection_record(result.selection), indent=1))
    else:
        for line in report.selection_lines(result):
            click.echo(line)
    _finish(result)


@pipelines.command()
@_inputs
@click.option(
    "--out", type=click.Path(path_type=Path), required=True, metavar="DIR", help="Where to write."
)
@click.option("--dry-run", is_flag=True, help="Print the pipeline and write nothing.")
def generate(result: DecisionResult, out: Path, dry_run: bool) -> None:
    """Write pipeline.yaml, selection.json and parameters.json."""
    _write(result, out, dry_run=dry_run)


@pipelines.command()
@click.argument("parameters", type=click.Path(path_type=Path))
@click.option(
    "--out", type=click.Path(path_type=Path), required=True, metavar="DIR", help="Where to write."
)
@click.option("--dry-run", is_flag=True, help="Print the pipeline and write nothing.")
def replay(parameters: Path, out: Path, dry_run: bool) -> None:
    """Make a recorded decision again, from its parameters.json alone."""
    recorded = artifacts.load_parameters(parameters).gauntlet_version
    if recorded != __version__:
        click.echo(f"note: recorded by Gauntlet {recorded}, this is {__version__}", err=True)
    _write(decide(DecideRequest.from_parameters(parameters)), out, dry_run=dry_run)


@pipelines.command()
@click.argument("key")
@_inputs
@click.option("--json", "as_json", is_flag=True, help="Print the decision as JSON.")
def explain(result: DecisionResult, key: str, as_json: bool) -> None:
    """Say what becomes of the job KEY, with every reason."""
    decision = _decision(result, key)
    if as_json:
        click.echo(json.dumps(artifacts.decision_record(decision), indent=1))
        return
    for line in report.explain_lines(decision):
        click.echo(line)


@pipelines.command("why-not")
@click.argument("key")
@_inputs
@click.option("--json", "as_json", is_flag=True, help="Print the decision as JSON.")
def why_not(result: DecisionResult, key: str, as_json: bool) -> None:
    """Say why the job KEY does not run, and what would make it run."""
    decision = _decision(result, key)
    if as_json:
        click.echo(json.dumps(artifacts.decision_record(decision), indent=1))
        return
    for line in report.why_not_lines(result, decision):
        click.echo(line)


@pipelines.command()
@click.argument("name", required=False)
def examples(name: str | None) -> None:
    """List the built-in changes, or print one."""
    if name:
        click.echo(changes.example_text(name), nl=False)
        return
    for known in changes.example_names():
        title = changes.example_text(known).partition("\n")[0].removeprefix("# ")
        click.echo(f"{known:<16} {title}")


def _changes(
    file: str | None,
    revision_range: str | None,
    example: str | None,
    definitions: Path | None,
    *,
    nightly: bool,
) -> tuple[changes.ChangedFile, ...]:
    given = [option for option in (file, revision_range, example) if option is not None]
    if not given and nightly:
        return ()
    if len(given) != 1:
        msg = "say what changed, in one way" if given else "say what changed"
        raise UsageError(msg, hint="--changes FILE (or -), --git BASE..HEAD or --example NAME")
    if example is not None:
        return changes.load_example(example)
    if revision_range is not None:
        if definitions is None:
            msg = "--git needs --definitions: the checkout whose changes are meant"
            raise UsageError(msg)
        return changes.git_changes(definitions, revision_range)
    if file == "-":
        raw = sys.stdin.buffer.read()
        return changes.parse_changes(raw.decode("utf-8", "replace"), file="standard input")
    return changes.read_changes(Path(str(file)))


def _source(
    definitions: Path | None, version: str | None, config: str, cache_dir: Path | None
) -> sources.EngineSource:
    if (definitions is None) == (version is None):
        msg = "say whose definitions: either --definitions DIR or --engine-version VERSION"
        raise UsageError(msg)
    if definitions is not None:
        return sources.open_source(definitions, config=config)
    folder = cache_dir or sources.default_cache()
    with report.progress("fetching the source") as update:
        return sources.fetch_source(version=str(version), cache_dir=folder, progress=update)


def _decision(result: DecisionResult, key: str) -> Decision:
    decision = result.selection.by_key.get(key)
    if decision is None:
        close = nearest(key, result.selection.by_key)
        msg = f"unknown job {key!r}" + (f"; did you mean {close!r}?" if close else "")
        raise UsageError(msg, hint="`gauntlet pipelines select --json` lists all jobs")
    return decision


def _write(result: DecisionResult, out: Path, *, dry_run: bool) -> None:
    if dry_run:
        click.echo(result.pipeline_yaml, nl=False)
    else:
        for path in write_artifacts(result, out):
            click.echo(path)
    for line in report.summary_lines(result):
        click.echo(line, err=True)
    _finish(result)


def _finish(result: DecisionResult) -> None:
    if not result.selection.selected:
        click.echo(result.plan.notice, err=True)
        _exit(ExitCode.NOTHING_SELECTED)


def _exit(code: ExitCode) -> NoReturn:
    click.get_current_context().exit(int(code))
