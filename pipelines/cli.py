"""The commands of the pipelines package; each is imported when it is called."""

import click

from gauntlet.core.lazy_group import LazyGroup

_HERE = "gauntlet.pipelines"
_DECIDE = f"{_HERE}.decide_command"
COMMANDS = {
    "select": (_DECIDE, "select", "Say which jobs a change can break, and why."),
    "generate": (_DECIDE, "generate", "Write the pipeline for a change."),
    "explain": (_DECIDE, "explain", "Say what becomes of one job, with every reason."),
    "why-not": (_DECIDE, "why_not", "Say why a job does not run, and what would make it run."),
    "diff": (f"{_HERE}.diff_command", "diff", "Compare with another revision."),
    "replay": (_DECIDE, "replay", "Make a recorded decision again, offline."),
    "upload": (f"{_HERE}.upload_command", "upload_pipeline", "Upload a pipeline in chunks."),
    "validate": (f"{_HERE}.validate_command", "validate", "Check any pipeline file."),
    "audit": (f"{_HERE}.audit.command", "audit", "Find what is wrong in definitions."),
    "migrate": (f"{_HERE}.migrate_command", "migrate", "Rewrite vLLM's definitions."),
    "shard": (f"{_HERE}.sharding.command", "shard", "Run one long job as the fewest shards."),
    "examples": (_DECIDE, "examples", "List the built-in changes, or print one."),
}


class Commands(LazyGroup):
    """Every command of this package."""

    table = COMMANDS


@click.group(cls=Commands)
def pipelines() -> None:
    """From a diff to a Buildkite pipeline: definitions, changes, selection, plan, pipeline."""
