"""``gauntlet pipelines upload``: bring a pipeline into the build of the running job."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from gauntlet.core.errors import ConfigError, UsageError
from gauntlet.core.yaml_file import read_text
from gauntlet.pipelines import artifacts
from gauntlet.pipelines.agent import AnnotationStyle, CommandAgent
from gauntlet.pipelines.base import record_built
from gauntlet.pipelines.checks.graph import MAX_JOBS_PER_UPLOAD
from gauntlet.pipelines.chunks import Chunk, plan_uploads
from gauntlet.pipelines.pipeline_file import load_pipeline
from gauntlet.pipelines.rendering.images import load_images, pin_images
from gauntlet.pipelines.sharding.apply import FOLDER
from gauntlet.pipelines.upload import Annotation, UploadReport, upload
from gauntlet.pipelines.validate_command import load_fleet
from gauntlet.pipelines.validation import validate_pipeline


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What is uploaded: a pipeline, its annotation, files that its jobs fetch, its commit."""

    file: str
    annotation: Annotation | None = None
    folder: Path | None = None
    commit: str | None = None


@click.command("upload")
@click.argument("source", metavar="FILE|-|DIR")
@click.option("--images", type=click.Path(path_type=Path), metavar="FILE", help="images.json.")
@click.option(
    "--annotation", type=click.Path(path_type=Path), metavar="FILE", help="Markdown to show."
)
@click.option(
    "--state",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Keep the commit of DIR here, as the last one that was built.",
)
@click.option("--fleet", "fleet_file", type=click.Path(path_type=Path), metavar="FILE")
@click.option("--max-jobs", type=click.IntRange(min=1), default=MAX_JOBS_PER_UPLOAD)
@click.option("--agent", "program", default="buildkite-agent", help="The agent's program.")
@click.option("--dry-run", is_flag=True, help="Print the uploads and make none.")
def upload_pipeline(
    source: str,
    images: Path | None,
    annotation: Path | None,
    state: Path | None,
    fleet_file: Path | None,
    max_jobs: int,
    program: str,
    dry_run: bool,
) -> None:
    """Upload a pipeline in chunks that Buildkite takes, each exactly once.

    DIR is what `generate --artifacts DIR` wrote: its pipeline, annotation and shard plans.
    """
    given = _source(source, annotation, wants_commit=state is not None)
    chunks = _planned(given.file, images, fleet_file, max_jobs)
    if dry_run:
        for line in plan_lines(chunks):
            click.echo(line)
        return
    agent, build_id = CommandAgent(program), _build_id()
    if given.folder is not None and (given.folder / FOLDER).is_dir():
        agent.keep_artifacts(given.folder, f"{FOLDER}/*")
    report = upload(chunks, agent, build_id=build_id, annotation=given.annotation)
    for line in report_lines(report):
        click.echo(line)
    if report.not_annotated is not None:
        click.echo(f"warning: no annotation: {report.not_annotated}", err=True)
    if state is not None and given.commit is not None:
        record_built(state, given.commit)


def _source(source: str, annotation: Path | None, *, wants_commit: bool) -> Source:
    """Read what stands beside a pipeline. Raises UsageError where --state has no commit."""
    folder = Path(source)
    if source == "-" or not folder.is_dir():
        if wants_commit:
            msg = "--state needs DIR, the artifacts of a decision: a pipeline names no commit"
            raise UsageError(msg, hint="generate with --artifacts DIR, and upload DIR")
        body = None if annotation is None else read_text(annotation)
        return Source(file=source, annotation=_annotation(body))
    parameters = artifacts.load_parameters(folder / artifacts.PARAMETERS)
    commit = parameters.changes.head
    if wants_commit and commit is None:
        msg = "--state: these changes came from no git checkout, so they name no commit"
        raise UsageError(msg, hint="generate with --git auto")
    body = read_text(annotation or folder / artifacts.ANNOTATION)
    style: AnnotationStyle = "warning" if parameters.changes.unknown else "info"
    return Source(
        file=str(folder / artifacts.PIPELINE),
        annotation=_annotation(body, style),
        folder=folder,
        commit=commit,
    )


def _annotation(body: str | None, style: AnnotationStyle = "info") -> Annotation | None:
    return None if body is None else Annotation(body=body, style=style)


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
