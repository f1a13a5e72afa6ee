"""``gauntlet ingest``: bring in what happened, once, and lose nothing."""

import click

from gauntlet.core.lazy_group import LazyGroup

_HERE = "gauntlet.warehouse.ingest"
COMMANDS = {
    "junit": (f"{_HERE}.tests_command", "junit", "Test results from JUnit XML."),
    "pytest-json": (f"{_HERE}.tests_command", "pytest_json", "Test results from pytest's JSON."),
    "log": (f"{_HERE}.log_command", "log", "A job's log: size, sections, end, error lines."),
    "environment": (
        f"{_HERE}.environment_command",
        "environment",
        "What a job ran with: packages, images, drivers.",
    ),
    "bench": (f"{_HERE}.bench_command", "bench", "Results of load generators."),
    "lm-eval": (f"{_HERE}.evals_command", "lm_eval", "Scores and samples of lm-eval."),
    "bfcl": (f"{_HERE}.evals_command", "bfcl", "Scores and samples of bfcl-eval."),
    "buildkite": (
        "gauntlet.warehouse.buildkite.buildkite_command",
        "buildkite",
        "Builds, jobs and queues from Buildkite.",
    ),
    "webhook": (
        "gauntlet.warehouse.buildkite.buildkite_command",
        "webhook",
        "Listen to Buildkite's webhooks.",
    ),
    "git": (f"{_HERE}.git_command", "git_history", "Commits of a branch in merge order."),
    "rows": (f"{_HERE}.rows_command", "rows", "Rows of any table from JSON lines."),
    "status": (f"{_HERE}.spool_command", "status", "What waits, and what was refused."),
    "replay": (f"{_HERE}.spool_command", "replay", "Ship what waits."),
}


class Commands(LazyGroup):
    """Every source."""

    table = COMMANDS


@click.group(cls=Commands)
def ingest() -> None:
    """Bring in what happened: to the local spool first, from there to the warehouse.

    Sent twice, stored once. What cannot be shipped now waits in the spool; what is no valid row
    is kept with its reasons. Exit codes: 4 or 7 where rows wait because the store is full or
    away, 5 where something was refused.
    """
