"""``gauntlet pipelines audit``: parse, ask the use case, render."""

import json
import shutil
import sys
from pathlib import Path

import click

from gauntlet.pipelines.sources import CONFIG_PATH

_PATH = click.Path(path_type=Path)


@click.command()
@click.option(
    "--definitions",
    type=_PATH,
    required=True,
    metavar="DIR",
    help="Root of a source tree of the engine.",
)
@click.option(
    "--config",
    default=CONFIG_PATH,
    show_default=True,
    metavar="FILE",
    help="Pipeline configuration, relative to the tree.",
)
@click.option(
    "--tree",
    type=_PATH,
    metavar="DIR|FILE",
    help="Files of the engine: a folder, or a list of paths.  [default: FILES.txt in "
    "--definitions, or what lies there]",
)
@click.option("--timings", type=_PATH, metavar="FILE", help="Measured durations of jobs.")
@click.option(
    "--baseline", type=_PATH, metavar="FILE", help="Accepted findings; exit 6 where there are more."
)
@click.option("--write-baseline", type=_PATH, metavar="FILE", help="Accept what is found.")
@click.option("--rule", "names", multiple=True, metavar="NAME", help="Check only this; repeatable.")
@click.option("--json", "as_json", is_flag=True, help="Print findings as JSON.")
def audit(
    definitions: Path,
    config: str,
    tree: Path | None,
    timings: Path | None,
    baseline: Path | None,
    write_baseline: Path | None,
    names: tuple[str, ...],
    as_json: bool,
) -> None:
    """Check CI definitions for what is dead, missing or has drifted apart.

    Without --baseline this is a report and ends with 0 whatever it finds.
    """
    from gauntlet.core.errors import NotQualifiedError
    from gauntlet.pipelines.audit import baseline as accepted
    from gauntlet.pipelines.audit import reading, report, run
    from gauntlet.pipelines.audit.registry import choose

    rules = choose(names, timings=timings is not None)
    known = accepted.load_baseline(baseline) if baseline else None
    request = reading.read_request(definitions, config, tree=tree, timings=timings)
    result = run.audit(request, rules)
    if write_baseline:
        path = accepted.write_baseline(write_baseline, result.findings, rules)
        click.echo(f"wrote {path}", err=True)
    compared = None if known is None else accepted.compare(result.findings, known, rules)
    if as_json:
        click.echo(json.dumps(report.record(result.findings, compared), indent=1))
    else:
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        for line in report.report_lines(result, compared, width=width):
            click.echo(line)
    for line in report.remark_lines(result, compared):
        click.echo(line, err=True)
    if compared and compared.new:
        count = len(compared.new)
        msg = f"{count} findings are" if count > 1 else "1 finding is"
        msg += f" not in {baseline}"
        raise NotQualifiedError(msg, hint="fix them, or accept them with --write-baseline")
