"""``gauntlet ingest environment``."""

from pathlib import Path

import click

from gauntlet.warehouse.ingest.outcome import Ingest, Target, target_options


@click.command()
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--job-id", envvar="BUILDKITE_JOB_ID", required=True, help="UUID of the job.")
@click.option(
    "--at",
    type=click.DateTime(["%Y-%m-%dT%H:%M:%SZ"]),
    help="When the job ran with it (UTC).  [default: now]",
)
@target_options
def environment(file: Path, job_id: str, at: object, target: Target) -> None:
    """Bring in what a job ran with: `pip freeze`, `pip list --format json`, or JSON by kind.

    Where a commit was good and is bad, what changed between the two is looked up here.
    """
    from datetime import UTC, datetime

    from gauntlet.core.clock import utc_now
    from gauntlet.core.yaml_file import read_text
    from gauntlet.warehouse.batch import Batch, content_id
    from gauntlet.warehouse.reports.environment import read_environment
    from gauntlet.warehouse.reports.log_batch import uuid_of

    now = utc_now()
    when = at.replace(tzinfo=UTC) if isinstance(at, datetime) else now
    text = read_text(file)
    job = uuid_of(job_id, "--job-id")
    found = read_environment(text, file=str(file), job_id=job, at=when)
    ingest = Ingest.to(target)
    name = content_id("environment", job.bytes, text.encode())
    ingest.keep(Batch.of(name, found.rows, source="environment", created_at=now))
    for problem in found.problems:
        ingest.refuse(problem)
    ingest.finish()
