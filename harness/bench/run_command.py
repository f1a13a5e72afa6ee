"""``gauntlet bench run``: measure everything that a recipe says."""

import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gauntlet.harness.bench.options import engine_options, take_engine_options
from gauntlet.perf_eval.options import json_option, setting_option
from gauntlet.warehouse.location import warehouse_option

if TYPE_CHECKING:
    from gauntlet.harness.bench.report import RepetitionReport
    from gauntlet.harness.bench.request import BenchRequest, EngineOptions
    from gauntlet.harness.bench.run import BenchPlan
    from gauntlet.perf_eval.expand import Variant


@click.command()
@click.argument("recipe")
@engine_options
@setting_option
@click.option("--point", metavar="KEY", help="Only this point of the sweep, without evals.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of the run.  [default: .gauntlet/runs/RECIPE-TIME]",
)
@click.option("--seed", type=click.IntRange(0, 2**31), default=1, show_default=True)
@click.option("--resume", is_flag=True, help="Go on with the run in --out: only what is missing.")
@click.option("--workers", type=click.IntRange(1, 64), help="Processes of the load client.")
@click.option("--no-calibration", is_flag=True, help="Do not measure the client's own error.")
@click.option("--build-id", metavar="ID", help="Build of the CI that this belongs to.")
@click.option("--dry-run", is_flag=True, help="Print what would be done, and stop.")
@json_option
@warehouse_option
def run(location: str, as_json: bool, dry_run: bool, **options: Any) -> int:  # noqa: ANN401 - click's
    """Measure everything that RECIPE says; each repetition is on record as soon as it exists.

    Exits 0 where every repetition is valid, 5 where one is invalid or failed, 6 where an
    objective is missed or a soak grows, 4 where the machine refused; what was measured until
    then is kept.
    """
    from gauntlet.core.proc import terminable
    from gauntlet.harness.bench.request import BenchRequest
    from gauntlet.harness.bench.run import plan_bench, run_bench

    engines = take_engine_options(options)
    request = BenchRequest(
        recipe=options["recipe"],
        settings=options["settings"],
        point=options["point"],
        out=out_of(options["out"], options["recipe"], resume=options["resume"]),
        warehouse=location,
        seed=options["seed"],
        resume=options["resume"],
        workers=options["workers"],
        calibration=not options["no_calibration"],
        build_id=options["build_id"],
        command=command_of("run", options, engines),
        engines=engines,
    )
    plan = plan_bench(request)
    if dry_run:
        return _show_plan(plan, request, as_json=as_json)
    show, say, end = screen(as_json=as_json)
    with terminable():
        result = run_bench(request, plan, show=show, say=say)
    end(f"run {result.run_id}: {len(result.reports)} repetitions in {request.out}")
    return int(result.exit_code)


def out_of(given: Path | None, recipe: str, *, resume: bool) -> Path:
    """The folder of a run. Raises UsageError for a resumed run without one."""
    from gauntlet.core.clock import utc_now
    from gauntlet.core.errors import UsageError

    if given is not None:
        return given
    if resume:
        msg = "--resume needs --out, the folder of the run"
        raise UsageError(msg)
    return Path(".gauntlet/runs") / f"{Path(recipe).stem}-{utc_now():%Y%m%d-%H%M%S}"


def command_of(verb: str, options: dict[str, Any], engines: "EngineOptions") -> tuple[str, ...]:
    """The command that would do the same again; the recipe is the one kept beside it."""
    words = ["gauntlet", "bench", verb, "@RECIPE@", "--seed", str(options["seed"])]
    named = {
        "base-url": engines.base_url,
        "candidate-url": engines.candidate_url,
        "runtime": engines.runtime,
        "engine-venv": engines.environment,
        "engine-lock": engines.lock,
        "simulator": engines.simulator,
        "devices": ",".join(engines.devices),
        "namespace": engines.namespace,
        "context": engines.context,
        "ready-timeout": engines.ready_timeout_s,
        "proxy": engines.proxy,
        "point": options.get("point"),
        "workers": options["workers"],
    }
    for name, value in named.items():
        if value:
            words += [f"--{name}", str(value)]
    return tuple(words)


def _servers(variant: "Variant", side: str, request: "BenchRequest") -> list[str]:
    """What is started for one side of a variant, or where it runs already."""
    options = request.engines
    url = options.candidate_url if side == "candidate" else options.base_url
    if url is not None:
        return [f"{url}, running already"]
    if options.runtime == "simulator" and variant.engine is None:
        return [f"gauntlet simulator --config {options.simulator}"]
    return [shlex.join(server.argv) for server in variant.servers] or ["none: give --base-url"]


def _show_plan(plan: "BenchPlan", request: "BenchRequest", *, as_json: bool) -> int:
    if as_json:
        steps = [
            {"key": step.key, "workload": step.name, "point": step.point} for step in plan.steps
        ]
        click.echo(json.dumps({"recipe": plan.recipe.name, "repetitions": steps}, indent=1))
        return 0
    click.echo(f"{plan.recipe.name}: {len(plan.steps)} repetitions")
    for stage in plan.stages:
        for side, variant in stage.sides.items():
            where = f"{stage.variant} {side}".strip()
            for text in _servers(variant, side, request):
                click.echo(f"  server of {where}: {text}")
    for step in plan.steps:
        click.echo(f"  {step.key}")
    return 0


def screen(
    *, as_json: bool
) -> tuple[
    Callable[["RepetitionReport"], object], Callable[[str], object], Callable[[str], object]
]:
    """How repetitions, progress and the end are shown: data to stdout, words to stderr."""
    from rich.console import Console
    from rich.table import Table

    from gauntlet.harness.bench.report import HEADINGS, table_row

    words = Console(stderr=True, highlight=False, soft_wrap=True)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in HEADINGS:
        table.add_column(heading, justify="left" if heading in HEADINGS[:4] else "right")

    def show(report: "RepetitionReport") -> None:
        table.add_row(*table_row(report))
        for reason in report.reasons:
            words.print(f"  {report.status}: {reason.splitlines()[0]}", markup=False)
        for objective in report.missed:
            words.print(f"  objective missed: {objective}", markup=False)
        if as_json:
            click.echo(json.dumps(report.as_data()))
            sys.stdout.flush()

    def say(text: str) -> None:
        words.print(f"· {text}", markup=False)

    def end(text: str) -> None:
        if not as_json:
            Console(width=None if sys.stdout.isatty() else 150, highlight=False).print(table)
        words.print(text, markup=False)

    return show, say, end
