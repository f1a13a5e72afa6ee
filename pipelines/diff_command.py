"""``gauntlet pipelines diff``: this decision against the one of another revision."""

import json

import click

from gauntlet.core.errors import ExitCode
from gauntlet.pipelines.decide import DecideRequest
from gauntlet.pipelines.inputs import decide_aloud, with_request
from gauntlet.pipelines.revisions import DiffRequest, diff_lines, diff_record, other_result


@click.command()
@click.argument("revision", metavar="[REV]", required=False)
@with_request
@click.option(
    "--gauntlet",
    "other_gauntlet",
    metavar="EXE",
    help="Compare with what another installation of Gauntlet makes of the same inputs.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the difference as JSON.")
@click.option("--exit-code", is_flag=True, help="Exit 6 where the two differ.")
def diff(
    request: DecideRequest,
    strict: bool,
    revision: str | None,
    other_gauntlet: str | None,
    as_json: bool,
    exit_code: bool,
) -> None:
    """Compare selection and pipeline with those of the definitions at the git revision REV."""
    asked = DiffRequest(request=request, revision=revision, gauntlet=other_gauntlet)
    other = other_result(asked)
    record = diff_record(other, decide_aloud(request, strict=strict))
    if as_json:
        click.echo(json.dumps(record.model_dump(), indent=1))
    else:
        for line in diff_lines(record):
            click.echo(line)
    if exit_code and record.differs:
        click.get_current_context().exit(int(ExitCode.NOT_QUALIFIED))
