"""``release gate``: evaluate every gate of a candidate, or those of one run."""

import json

import click

from gauntlet.release.gates.options import Places, place_options
from gauntlet.release.options import VERSION, by_option, json_option
from gauntlet.release.version import ReleaseVersion


@click.command()
@click.argument("candidate", type=VERSION, required=False)
@click.option("--run", "run_id", help="Judge one run by the shipped gates of runs instead.")
@click.option("--whole", is_flag=True, help="List every problem.")
@click.option("--dry-run", is_flag=True, help="Evaluate, but record nothing.")
@by_option
@json_option
@place_options
def gate(
    *,
    candidate: ReleaseVersion | None,
    run_id: str | None,
    whole: bool,
    dry_run: bool,
    by: str,
    as_json: bool,
    places: Places,
) -> None:
    """Evaluate the gates of CANDIDATE (v1.2.3rc1; v1.2.3 is its newest); exit 6 if one is open."""
    from gauntlet.core.clock import utc_now
    from gauntlet.core.errors import NotQualifiedError, UsageError
    from gauntlet.release.gates.report import lines_of
    from gauntlet.release.gates.use import evaluate_candidate, record_evaluation

    if (candidate is None) == (run_id is None):
        raise UsageError("give a candidate, or --run RUN_ID", hint="release gate v1.2.3rc1")
    if candidate is None:
        _of_run(str(run_id), places.location, dry_run=dry_run, as_json=as_json)
        return
    place, now = places.load(), utc_now()
    done = evaluate_candidate(place, candidate, now)
    if not dry_run:
        record_evaluation(place, done, now, places.who(by))
    if as_json:
        gates = [each.plain() for each in done.result.gates]
        told = {"candidate": done.result.candidate, "commit": done.result.commit}
        click.echo(json.dumps({**told, "outcome": done.result.outcome, "gates": gates}, indent=2))
    else:
        click.echo("\n".join(lines_of(done.result, whole=whole)))
    if not done.result.qualified:
        raise NotQualifiedError(f"{done.result.candidate} is not qualified")


def _of_run(run_id: str, location: str, *, dry_run: bool, as_json: bool) -> None:
    from gauntlet.core.errors import NotQualifiedError
    from gauntlet.release.gates.run_gates import evaluate_run

    result = evaluate_run(location, run_id, record=not dry_run)
    click.echo(json.dumps(result.plain()) if as_json else "\n".join(result.lines()))
    if not result.qualified:
        raise NotQualifiedError(f"run {run_id} is not qualified")
