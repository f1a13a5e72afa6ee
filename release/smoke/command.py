"""``release smoke``: try one artifact where it is to run, and write down what came of it."""

from pathlib import Path

import click

from gauntlet.release.gates.options import Places, place_options
from gauntlet.release.options import VERSION
from gauntlet.release.version import ReleaseVersion

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.argument("candidate", type=VERSION)
@click.option("--cell", required=True, help="Which cell of the matrix it fills.")
@click.option("--wheel", type=_FILE, help="The wheel; without it the cell's image, or file.")
@click.option("--commit", help="Of the candidate, where this machine has no state of the release.")
@click.option("--staging", default="", help="Where images are staged.  [default: the policy's]")
@click.option(
    "--dependencies",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Wheels that it may install beside.",
)
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), help="Write the result here as well."
)
@place_options
def smoke(
    *,
    candidate: ReleaseVersion,
    cell: str,
    wheel: Path | None,
    commit: str | None,
    staging: str,
    dependencies: Path | None,
    out: Path | None,
    places: Places,
) -> None:  # fmt: skip
    """Install or start one artifact of CANDIDATE, and ask it once; exit 6 where it does not answer.

    What this machine cannot run is no pass either.
    """
    from gauntlet.core.errors import NotQualifiedError
    from gauntlet.core.files import write_atomic
    from gauntlet.release.build.try_one import OneTrial, try_one

    place = places.load()
    trial = OneTrial(
        version=candidate,
        cell=cell,
        wheel=wheel,
        commit=commit,
        staging=staging,
        dependencies=dependencies,
    )
    result = try_one(place, trial)
    text = result.model_dump_json(indent=2)
    if out is not None:
        write_atomic(out, f"{text}\n")
    click.echo(text)
    if result.outcome != "pass":
        why = "; ".join(each.message.partition("\n")[0] for each in result.findings)
        raise NotQualifiedError(f"{cell}: {result.outcome}: {why or 'it answered nothing'}")
