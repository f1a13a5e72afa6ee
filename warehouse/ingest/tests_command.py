"""``gauntlet ingest junit`` and ``pytest-json``."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from gauntlet.warehouse.ingest.outcome import Ingest, Target, files_below, target_options

if TYPE_CHECKING:
    from gauntlet.warehouse.reports.files import Kind

CommandT = TypeVar("CommandT", bound=Callable[..., object])

_OPTIONS = (
    click.argument("paths", nargs=-1, type=click.Path(path_type=Path)),
    click.option(
        "--jobs",
        "manifest",
        type=click.Path(path_type=Path, exists=True, dir_okay=False),
        help="JSON lines: the job and the files of each, instead of PATHS and the options below.",
    ),
    click.option(
        "--job-id",
        envvar="BUILDKITE_JOB_ID",
        help="UUID of the job; else a folder of that name, else the file's digest names it.",
    ),
    click.option("--repository", default="", help="Repository that the tests are of."),
    click.option("--sha", envvar="BUILDKITE_COMMIT", default="", help="Commit that was tested."),
    click.option("--branch", envvar="BUILDKITE_BRANCH", default="", help="Its branch."),
    click.option("--job-key", envvar="BUILDKITE_STEP_KEY", default="", help="Job definition."),
    click.option(
        "--queue", envvar="BUILDKITE_AGENT_META_DATA_QUEUE", default="", help="Where it ran."
    ),
    click.option(
        "--started-at",
        type=click.DateTime(["%Y-%m-%dT%H:%M:%S%z", "%Y-%m-%dT%H:%M:%S.%f%z"]),
        help="When the job started, with its zone; else the report's own time.",
    ),
)


def _report_options(function: CommandT) -> CommandT:
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


@click.command()
@_report_options
@target_options
def junit(
    paths: tuple[Path, ...], manifest: Path | None, target: Target, **job: "str | datetime | None"
) -> None:
    """Bring in test results from JUnit XML (.xml, .xml.gz; folders are searched).

    A broken file is kept up to the break. A case that cannot be (no name, a negative or endless
    time) is kept as refused, with the reason.
    """
    _bring_in("junit", (".xml", ".xml.gz"), paths, manifest, target, job)


@click.command("pytest-json")
@_report_options
@target_options
def pytest_json(
    paths: tuple[Path, ...], manifest: Path | None, target: Target, **job: "str | datetime | None"
) -> None:
    """Bring in test results from pytest-json-report or pytest-reportlog."""
    suffixes = (".json", ".jsonl", ".json.gz", ".jsonl.gz")
    _bring_in("pytest-json", suffixes, paths, manifest, target, job)


def _bring_in(
    kind: "Kind",
    suffixes: tuple[str, ...],
    paths: tuple[Path, ...],
    manifest: Path | None,
    target: Target,
    job: "dict[str, str | datetime | None]",
) -> None:
    from gauntlet.core.clock import utc_now
    from gauntlet.core.errors import UsageError
    from gauntlet.warehouse.location import spool_folder
    from gauntlet.warehouse.reports.files import ReadRequest, read_reports
    from gauntlet.warehouse.reports.manifest import jobs_of_files, load_manifest

    if bool(paths) == bool(manifest):
        raise UsageError("give either PATHS or --jobs FILE")
    if manifest is not None:
        jobs = load_manifest(manifest)
    else:
        jobs = jobs_of_files(files_below(paths, *suffixes), job)
    ingest = Ingest.to(target)
    spool = None if target.dry_run else spool_folder(target.location)
    request = ReadRequest(kind=kind, now=utc_now(), spool=spool)
    with ingest.shipped_anyway():
        for totals in read_reports(jobs, request, ingest.ship):
            ingest.count(totals.results, totals.rejected, totals.reasons)
            ingest.repeated += totals.repeated
            for reason in totals.unreadable:
                ingest.refuse(reason)
    ingest.finish()
