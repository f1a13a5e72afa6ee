"""``gauntlet ingest git``."""

from pathlib import Path

import click

from gauntlet.warehouse.ingest.outcome import Ingest, Target, target_options


@click.command("git")
@click.argument("repository", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--branch", default="main", show_default=True, help="The branch.")
@click.option("--name", help="What the rows call the repository; default: the folder's name.")
@click.option(
    "--since",
    default="auto",
    show_default=True,
    help="'auto' (after the newest commit in the warehouse), 'all', or a commit.",
)
@target_options
def git_history(
    repository: Path, branch: str, name: str | None, since: str, target: Target
) -> None:
    """Bring in the first-parent history of a branch: merge order, paths, pull requests."""
    from gauntlet.core.clock import utc_now
    from gauntlet.warehouse.git_history import commit_batches, newest_commit

    called = name or repository.resolve().name
    after = None if since == "all" else since
    if since == "auto":
        after = newest_commit(target.location, called, branch)
    ingest = Ingest.to(target)
    for batch in commit_batches(repository, branch=branch, name=called, after=after, now=utc_now()):
        ingest.keep(batch)
    ingest.finish()
