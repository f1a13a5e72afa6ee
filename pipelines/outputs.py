"""What a decision leaves on disk."""

from pathlib import Path

from gauntlet.core.files import write_atomic
from gauntlet.pipelines import artifacts
from gauntlet.pipelines.annotation import annotation
from gauntlet.pipelines.decide import DecisionResult
from gauntlet.pipelines.estimate import estimate
from gauntlet.pipelines.timings import Timings


def write_artifacts(
    result: DecisionResult, out_dir: Path, timings: Timings | None = None
) -> tuple[Path, ...]:
    """Write all that a decision leaves behind, each file whole; return their paths.

    ``timings`` only make the annotation's expectations better. Raises InfrastructureError where
    the folder cannot be written.
    """
    request = result.request
    files = {
        artifacts.PIPELINE: result.pipeline_yaml,
        artifacts.SELECTION: result.selection_json(),
        artifacts.PARAMETERS: request.parameters_json(),
        artifacts.ANNOTATION: annotation(result, estimate(result.plan, timings)),
    }
    if request.shard_plans:
        from gauntlet.pipelines.sharding.apply import attachments

        files |= attachments(request.shard_plans)
    return tuple(write_atomic(out_dir / name, text) for name, text in files.items())
