"""``gauntlet locks bisect``."""

from pathlib import Path

import click

from gauntlet.locks.options import folder_options

_FILE = click.Path(path_type=Path, dir_okay=False)
_FOLDER = click.Path(path_type=Path, file_okay=False)
_WHEELS = click.Path(path_type=Path, exists=True, file_okay=False)
_SECONDS = click.FloatRange(0, min_open=True)


@click.command()
@click.option("--old", required=True, metavar="FILE|REV:PATH", help="The lock that passes.")
@click.option("--new", required=True, metavar="FILE|REV:PATH", help="The lock that fails.")
@click.option(
    "--lock",
    "name",
    metavar="NAME",
    help="Their lock in locks.yaml: its overrides and resolver count.",
)
@click.option(
    "--log",
    type=_FILE,
    metavar="FILE",
    help="A log of the failure: packages that it names go first.",
)
@click.option(
    "--max-installs",
    default=12,
    show_default=True,
    type=click.IntRange(1),
    help="Give up after so many.",
)
@click.option("--prove-ends", is_flag=True, help="First try the two locks themselves.")
@click.option(
    "--work",
    type=_FOLDER,
    default=Path(".gauntlet/locks-bisect"),
    show_default=True,
    metavar="DIR",
    help="Keeps results, so that a killed bisect goes on.",
)
@click.option(
    "--hold",
    type=_FILE,
    metavar="FILE",
    help="Write the line that holds the culprit back to this file.",
)
@click.option("--write-hold", is_flag=True, help="Write it to holds.txt beside the locks.")
@click.option(
    "--find-links", multiple=True, type=_WHEELS, metavar="DIR", help="A folder of wheels."
)
@click.option("--no-index", is_flag=True, help="Only those folders; no network.")
@click.option("--python", metavar="3.N", help="Python of the probes.  [default: the lock's]")
@click.option(
    "--test-timeout", default=1800.0, show_default=True, type=_SECONDS, help="In seconds."
)
@click.option("--dry-run", is_flag=True, help="Only list the upgrades, the likeliest first.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@folder_options
@click.argument("command", nargs=-1, required=True)
def bisect(as_json: bool, dry_run: bool, **given: object) -> None:
    """Find the upgrade that breaks COMMAND, and prove that all others may stay.

    Each probe is a fresh environment. COMMAND ends with 0 for good and with 125 for what cannot be
    judged (as one that takes too long); anything else is bad. Ends with 0 where the culprit is
    proved, with 6 where the red stays or does not come back.
    """
    from gauntlet.core.clock import utc_now
    from gauntlet.core.errors import ExitCode
    from gauntlet.core.json_file import json_text
    from gauntlet.locks.bisect.asked import Asked
    from gauntlet.locks.bisect.report import report_lines, suspects_text, write_holds
    from gauntlet.locks.bisect.units import material
    from gauntlet.locks.bisect.use import bisect_packages
    from gauntlet.locks.resolvers import resolver_for

    asked = Asked(**given)  # type: ignore[arg-type]
    request = asked.request()
    if dry_run:
        found = material(request.old, request.new, log=request.log)
        click.echo(suspects_text(found, as_json=as_json))
        return
    resolver = resolver_for(request.spec.resolver or "uv")
    report = bisect_packages(request, resolver, lambda line: click.echo(line, err=True))
    click.echo(json_text(report).rstrip() if as_json else "\n".join(report_lines(report)))
    if report.state == "proved" and (holds := asked.holds()):
        for line in write_holds(holds, report, utc_now().date()):
            click.echo(f"{holds}: {line}", err=True)
    if report.state != "proved":
        click.get_current_context().exit(int(ExitCode.NOT_QUALIFIED))
