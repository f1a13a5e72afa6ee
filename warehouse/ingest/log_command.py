"""``gauntlet ingest log``."""

from pathlib import Path

import click

from gauntlet.warehouse.ingest.outcome import Ingest, Target, target_options


@click.command()
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--job-id", envvar="BUILDKITE_JOB_ID", required=True, help="UUID of the job.")
@click.option("--build-id", envvar="BUILDKITE_BUILD_ID", help="UUID of its build.")
@click.option(
    "--keep",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Keep the whole log there, compressed, named by its digest.",
)
@target_options
def log(file: Path, job_id: str, build_id: str | None, folder: Path | None, target: Target) -> None:
    """Bring in a job's log (plain or .gz): size, digest, sections with times, end, error lines.

    It is read once, in memory that does not grow with it. A later reading replaces an earlier one.
    """
    from gauntlet.core.clock import utc_now
    from gauntlet.warehouse.reports.log import keep_log, scan_log
    from gauntlet.warehouse.reports.log_batch import log_batch, uuid_of
    from gauntlet.warehouse.reports.source import file_chunks

    now = utc_now()
    job, build = uuid_of(job_id, "--job-id"), uuid_of(build_id, "--build-id") if build_id else None
    version = int(now.timestamp() * 1000)
    chunks = file_chunks(file)
    if folder is None or target.dry_run:
        found = scan_log(chunks, job_id=job, build_id=build, version=version, now=now)
    else:
        found = keep_log(chunks, folder, job_id=job, build_id=build, version=version, now=now)
    ingest = Ingest.to(target)
    ingest.keep(log_batch(found, now))
    if found.problem:
        ingest.refuse(f"{file}: {found.problem}", rows=0)
    ingest.finish()
