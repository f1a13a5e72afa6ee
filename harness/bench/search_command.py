"""``gauntlet bench search``: the highest load that keeps the limits."""

import json
from pathlib import Path
from typing import Any

import click

from gauntlet.harness.bench.options import engine_options, take_engine_options
from gauntlet.perf_eval.options import json_option, setting_option
from gauntlet.warehouse.location import warehouse_option


@click.command()
@click.argument("recipe")
@engine_options
@setting_option
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Folder of the run.")
@click.option("--seed", type=click.IntRange(0, 2**31), default=1, show_default=True)
@click.option("--workers", type=click.IntRange(1, 64), help="Processes of the load client.")
@click.option("--no-calibration", is_flag=True, help="Do not measure the client's own error.")
@json_option
@warehouse_option
def search(location: str, as_json: bool, **options: Any) -> int:  # noqa: ANN401 - click's
    """Find the highest rate or concurrency at which RECIPE's objectives are kept.

    By bisection; a probe decides only where its interval is clear of the limit and the server does
    not fall behind. Exits 0 where the answer is resolved and 5 where it is not.
    """
    from gauntlet.core.errors import ExitCode
    from gauntlet.core.proc import terminable
    from gauntlet.harness.bench.request import BenchRequest
    from gauntlet.harness.bench.run import plan_bench, search_bench
    from gauntlet.harness.bench.run_command import command_of, out_of, screen

    engines = take_engine_options(options)
    request = BenchRequest(
        recipe=options["recipe"],
        settings=options["settings"],
        out=out_of(options["out"], options["recipe"], resume=False),
        warehouse=location,
        seed=options["seed"],
        workers=options["workers"],
        calibration=not options["no_calibration"],
        command=command_of("search", options, engines),
        engines=engines,
    )
    plan = plan_bench(request)
    show, say, end = screen(as_json=False)
    with terminable():
        result = search_bench(request, plan, show=show, say=say)
    if as_json:
        click.echo(json.dumps(result.as_data(), indent=1))
    else:
        end(f"{len(result.probes)} probes in {request.out}")
        best = "none" if result.answer.best is None else f"{result.answer.best:g}"
        click.echo(f"{result.answer.status}: {result.parameter} {best}: {result.answer.reason}")
    resolved = result.answer.status == "resolved"
    return int(ExitCode.OK if resolved else ExitCode.INVALID_MEASUREMENT)
