"""``release plan``: the matrix as a table, or as a pipeline to upload."""

import json
from pathlib import Path

import click

from gauntlet.release.options import VERSION, json_option, policy_option, releases_option
from gauntlet.release.version import ReleaseVersion

matrix_option = click.option(
    "--matrix",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A matrix in the place of the one that ships.",
)


@click.command()
@click.argument("version", type=VERSION)
@matrix_option
@click.option("--commit", help="Of the candidate, where this machine has no state of the release.")
@click.option(
    "--staging",
    default="",
    help="Where images are pushed before they are proven.  [default: the policy's]",
)
@click.option("--pipeline", is_flag=True, help="Print the Buildkite pipeline.")
@json_option
@policy_option
@releases_option
def plan(
    *,
    version: ReleaseVersion,
    matrix: Path | None,
    commit: str | None,
    staging: str,
    pipeline: bool,
    as_json: bool,
    policy: Path | None,
    releases: Path,
) -> None:  # fmt: skip
    """Say which wheels and images a candidate is built into, and where."""
    from gauntlet.release.folder import ReleaseFolder
    from gauntlet.release.matrix.model import load_matrix
    from gauntlet.release.matrix.pipeline import Source, render, to_yaml
    from gauntlet.release.matrix.sources import full_commit, options_of, staging_of
    from gauntlet.release.matrix.table import plain, table
    from gauntlet.release.policy import load_release_policy

    loaded = load_matrix(matrix)
    if not pipeline:
        click.echo(json.dumps(plain(loaded), indent=2) if as_json else "\n".join(table(loaded)))
        return
    if commit is None:
        release = ReleaseFolder.of(releases, version).load()
        candidate = release.candidate_of(version)
        version, commit = ReleaseVersion.parse(candidate.name), candidate.commit
    source = Source(
        candidate=version.tag,
        version=version.final.python,
        commit=full_commit(commit),
        staging=staging_of(loaded, load_release_policy(policy), staging),
        options=options_of(policy, matrix),
    )
    rendered = render(loaded, source)
    click.echo(json.dumps(rendered, indent=2) if as_json else to_yaml(rendered), nl=False)
