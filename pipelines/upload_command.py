"""``gauntlet pipelines upload``: bring a pipeline into the build of the running job."""

import os
from collections.abc import Sequence
from pathlib import Path

import click

from gauntlet.core.errors import ConfigError, UsageError
from gauntlet.core.yaml_file import read_text
from gauntlet.pipelines.agent import CommandAgent
from gauntlet.pipelines.checks.graph import MAX_JOBS_PER_UPLOAD
from gauntlet.pipelines.chunks import Chunk, plan_uploads
from gauntlet.pipelines.pipeline_file import load_pipeline
from gauntlet.pipelines.rendering.images import load_images, pin_images
from gauntlet.pipelines.upload import Annotation, UploadReport, upload
from gauntlet.pipelines.validate_command import load_fleet
from gauntlet.pipelines.validation import validate_pipeline


@click.command("upload")
@click.argument("file", metavar="FILE|-")
@click.option("--images", type=click.Path(path_type=Path), metavar="FILE", help="images.json.")
@click.option(
    "--annotation", type=click.Path(path_type=Path), metavar="FILE", help="Markdown to show."
)
@click.option("--fleet", "fleet_file", type=click.Path(path_type=Path), metavar="FILE")
@click.option("--max-jobs", type=click.IntRange(min=1), default=MAX_JOBS_PER_UPLOAD)
@click.option("--agent", "program", default="buildkite-agent", help="The agent's program.")
@click.option("--dry-run", is_flag=True, help="Print the uploads and make none.")
def upload_pipeline(
    file: str,
    images: Path | None,
    annotation: Path | None,
    fleet_file: Path | None,
    max_jobs: int,
    program: str,
    dry_run: bool,
) -> None:
    """Upload a pipeline in chunks that Buildkite takes, each exactly once."""
    note = None if annotation is None else Annotation(body=read_text(annotation))
    chunks = _planned(file, images, fleet_file, max_jobs)
    if dry_run:
        for line in plan_lines(chunks):
            click.echo(line)
        return
    report = upload(chunks, CommandAgent(program), build_id=_build_id(), annotation=note)
    for line in report_lines(report):
        click.echo(line)
    if report.not_annotated is not None:
        click.echo(f"warning: no annotation: {report.not_annotated}", err=True)


def plan_lines(chunks: Sequence[Chunk]) -> list[str]:
    """Say what would be uploaded: one line for each chunk, with its jobs and groups."""
    return [
        f"upload {chunk.number} of {len(chunks)}: {chunk.jobs} jobs in {len(chunk.units)} groups: "
        f"{', '.join(chunk.units)}"
        for chunk in chunks
    ]


def report_lines(report: UploadReport) -> list[str]:
    """Say what became of each chunk."""
    return [
        f"upload {chunk.number} of {len(report.chunks)}: {chunk.jobs} jobs, {outcome}"
        for chunk, outcome in report.chunks
    ]


def _planned(
    file: str, images: Path | None, fleet_file: Path | None, max_jobs: int
) -> tuple[Chunk, ...]:
    """Read, check and split a pipeline. Raises ConfigError where Buildkite would refuse it."""
    pipeline, document = load_pipeline(file)
    fleet = load_fleet(fleet_file)
    problems = validate_pipeline(pipeline, fleet=fleet, document=document)
    if problems:
        raise ConfigError(problems)
    if images is not None:
        pipeline = pin_images(pipeline, load_images(images, fleet.images))
    return plan_uploads(pipeline, max_jobs)


def _build_id() -> str:
    build_id = os.environ.get("BUILDKITE_BUILD_ID")
    if not build_id:
        msg = "BUILDKITE_BUILD_ID is not set: this is no Buildkite job"
        raise UsageError(msg, hint="--dry-run shows what would be uploaded")
    return build_id
