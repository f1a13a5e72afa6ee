"""``release build``: artifacts of a candidate, built here or collected, checked and tried."""

import json
from pathlib import Path

import click

from gauntlet.release.gates.options import Places, place_options
from gauntlet.release.options import VERSION, acting_options, by_option, json_option
from gauntlet.release.version import ReleaseVersion

_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


@click.command()
@click.argument("candidate", type=VERSION)
@click.option("--local", is_flag=True, help="Build the cells of this machine's platform.")
@click.option("--only", multiple=True, metavar="CELL", help="With --local: these; repeatable.")
@click.option("--base", default="", help="With --local: base image instead of the first FROM.")
@click.option("--collect", type=_FOLDER, help="Take wheels and the sdist from this folder.")
@click.option("--smoke", type=_FOLDER, help="Take results of other machines' smoke tests.")
@click.option("--dependencies", type=_FOLDER, help="Wheels that a smoke test may install.")
@click.option("--staging", default="", help="Where images are staged.  [default: the policy's]")
@click.option("--try/--no-try", "try_here", default=True, help="Smoke test what runs here.")
@click.option("--build-sdist", is_flag=True, help="Also build a wheel from the sdist, here.")
@by_option
@acting_options
@json_option
@place_options
def build(
    *,
    candidate: ReleaseVersion,
    local: bool,
    only: tuple[str, ...],
    base: str,
    collect: Path | None,
    smoke: Path | None,
    dependencies: Path | None,
    staging: str,
    try_here: bool,
    build_sdist: bool,
    by: str,
    dry_run: bool,
    yes: bool,
    as_json: bool,
    places: Places,
) -> None:
    """Bring CANDIDATE's artifacts together; exit 6 where they are not whole, sound and tried.

    Without --local and --collect what is there, and in staging, is checked and tried.
    """
    from gauntlet.core.clock import utc_now
    from gauntlet.core.errors import NotQualifiedError, UsageError
    from gauntlet.release.build.place import Workshop
    from gauntlet.release.build.use import Bench, BuildRequest, perform_build, plan_build
    from gauntlet.release.folder import ReleaseFolder
    from gauntlet.release.gates.report import gate_lines
    from gauntlet.release.options import confirm

    if (only or base) and not local:
        raise UsageError("--only and --base are for --local", hint="add --local")
    place = places.load()
    folder = ReleaseFolder.of(places.releases, candidate)
    bench = Bench(
        repository=places.repository,
        location=places.location,
        policy=place.policy,
        matrix=place.matrix,
        release=folder,
    )
    known = folder.load().candidate_of(candidate)
    shop = Workshop.of(folder, known, place.policy, staging)
    request = BuildRequest(
        version=candidate,
        local=local,
        only=only,
        collect=collect,
        smoke=smoke,
        base=base,
        dependencies=dependencies,
        try_here=try_here,
        build_sdist=build_sdist,
    )
    planned = plan_build(bench, shop, request)
    if dry_run:
        lines = list(planned.lines())
        click.echo(json.dumps({"plan": lines}, indent=2) if as_json else "\n".join(lines))
        return
    confirm(planned.lines(), yes=yes, what=f"Build {known.name}?")
    gate = perform_build(bench, shop, request, planned, now=utc_now(), by=places.who(by))
    told = json.dumps(gate.plain(), indent=2) if as_json else "\n".join(gate_lines(gate))
    click.echo(told)
    if gate.state != "PASS":
        raise NotQualifiedError(f"the artifacts of {known.name} are not whole, sound and tried")
